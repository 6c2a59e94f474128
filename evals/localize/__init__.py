"""How well the localizer finds what real fixes touched: cases, scores, training and the bench."""
