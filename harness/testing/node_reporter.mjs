// Writes one JSON line for each test that has ended: its file, its names from the outside in, and how it went.
// The last line says that nothing was cut off. Suites and files are left out where the tests inside them say it all.

const describe = (error) => {
  const cause = error?.cause ?? error;
  return String(cause?.stack ?? cause?.message ?? cause ?? "");
};

export default async function* reporter(source) {
  const names = new Map();
  const noise = new Map();
  for await (const { type, data } of source) {
    if (type === "test:start") {
      const known = names.get(data.file) ?? [];
      names.set(data.file, [...known.slice(0, data.nesting), data.name]);
    }
    if (type === "test:stderr") {
      noise.set(data.file, ((noise.get(data.file) ?? "") + data.message).slice(-4000));
    }
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.details?.type === "suite" && data.details?.error?.failureType !== "hookFailed") continue;
    if (data.details?.error?.failureType === "subtestsFailed") continue;
    const above = (names.get(data.file) ?? []).slice(0, data.nesting);
    const own = data.file?.endsWith(data.name) ? "\n" + (noise.get(data.file) ?? "") : "";
    yield JSON.stringify({
      file: data.file ?? "",
      names: [...above, data.name],
      passed: type === "test:pass",
      skip: data.skip,
      todo: data.todo,
      ms: data.details?.duration_ms,
      message: type === "test:fail" ? describe(data.details?.error) + own : "",
    }) + "\n";
  }
  yield JSON.stringify({ end: true }) + "\n";
}
