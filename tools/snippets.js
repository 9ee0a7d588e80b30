// Puts the files of examples/ into the README where a comment names them. With --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs'

const readme = new URL('../README.md', import.meta.url)
const text = readFileSync(readme, 'utf8')
const fresh = text.replace(
  /(<!-- (examples\/\S+) -->\n```ts\n)[\s\S]*?(```\n)/g,
  (_, before, file, after) => {
    const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
    return before + source + after
  },
)
if (!process.argv.includes('--check')) writeFileSync(readme, fresh)
else if (fresh !== text) {
  console.error('README.md shows examples as they were: run `node tools/snippets.js` and commit the result')
  process.exit(1)
}
