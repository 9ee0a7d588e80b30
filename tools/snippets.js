// Puts the files of examples/ into the README and the pages of docs/ where a comment names them. With --check it only
// compares.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const pages = ['README.md', ...readdirSync(new URL('docs', root)).map((name) => `docs/${name}`)]

for (const name of pages) {
  const page = new URL(name, root)
  const text = readFileSync(page, 'utf8')
  const fresh = text.replace(
    /(<!-- (examples\/\S+) -->\n```ts\n)[\s\S]*?(```\n)/g,
    (_, before, file, after) => before + readFileSync(new URL(file, root), 'utf8') + after,
  )
  if (!process.argv.includes('--check')) writeFileSync(page, fresh)
  else if (fresh !== text) {
    console.error(`${name} shows examples as they were: run \`node tools/snippets.js\` and commit the result`)
    process.exitCode = 1
  }
}
