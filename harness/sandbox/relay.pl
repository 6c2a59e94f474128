# Carries connections from a loopback port to a Unix socket.   usage: relay.pl SOCKET PORT
# Prints the number of the process that listens, once it does. Perl, since every Debian has it.
use strict;
use warnings;
use IO::Handle ();
use Socket;
use POSIX ();

my ($path, $port) = @ARGV;
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
bind($listener, sockaddr_in($port, INADDR_LOOPBACK)) or die "bind: $!\n";
listen($listener, 128) or die "listen: $!\n";
my $server = fork() // die "fork: $!\n";
if ($server) { print "$server\n"; exit 0 }
POSIX::setsid();
open($_->[0], $_->[1], '/dev/null') for ([*STDIN, '<'], [*STDOUT, '>'], [*STDERR, '>']);
$SIG{CHLD} = 'IGNORE';
$SIG{PIPE} = 'IGNORE';
while (1) {
    accept(my $client, $listener) or next;
    my $child = fork();
    next if !defined $child || $child;
    close $listener;
    socket(my $proxy, PF_UNIX, SOCK_STREAM, 0) or exit 1;
    connect($proxy, sockaddr_un($path)) or exit 1;
    pump($client, $proxy);
    exit 0;
}

sub pump {
    my @side = @_;
    my @waiting = ('', '');    # bytes that a side has yet to be given
    my @reads = (1, 1);
    my @shut = (0, 0);
    $_->blocking(0) for @side;
    while (!$shut[0] || !$shut[1]) {
        my ($readable, $writable) = ('', '');
        for my $i (0, 1) {
            vec($readable, fileno($side[$i]), 1) = 1 if $reads[$i] && length($waiting[1 - $i]) < 65536;
            vec($writable, fileno($side[$i]), 1) = 1 if length($waiting[$i]);
        }
        select($readable, $writable, undef, undef) > 0 or next;
        for my $i (0, 1) {
            my $other = 1 - $i;
            if (vec($readable, fileno($side[$i]), 1)) {
                my $got = sysread($side[$i], $waiting[$other], 65536, length($waiting[$other]));
                return if !defined $got && !$!{EAGAIN} && !$!{EINTR};
                $reads[$i] = 0 if defined $got && $got == 0;
            }
            if (vec($writable, fileno($side[$i]), 1)) {
                my $put = syswrite($side[$i], $waiting[$i]);
                return if !defined $put && !$!{EAGAIN} && !$!{EINTR};
                substr($waiting[$i], 0, $put, '') if defined $put;
            }
        }
        for my $i (0, 1) {
            next if $reads[1 - $i] || length($waiting[$i]) || $shut[$i];
            shutdown($side[$i], 1);
            $shut[$i] = 1;
        }
    }
}
