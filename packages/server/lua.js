// Embeds the scripts of /lua in src/redis/scripts.ts. With --check it only compares, and exits 1 when they differ.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('../../lua/', import.meta.url)
const target = new URL('./src/redis/scripts.ts', import.meta.url)
const INCLUDE = /^--- @include "([^"]+)"\n/gm

/** The text of a script with its includes in place, each once. `instead` gives other text for an include. */
export function assemble(name, instead = {}) {
  const seen = new Set()
  const read = (path) => readFileSync(new URL(`${path}.lua`, folder), 'utf8')
  const resolve = (text) =>
    text.replace(INCLUDE, (_, path) => {
      if (seen.has(path)) return ''
      seen.add(path)
      return resolve(instead[path] ?? read(path))
    })
  return lean(resolve(read(name)))
}

/** Comments, indents and empty lines stay at home: Redis keeps and hashes every byte. */
function lean(text) {
  return text
    .replace(/--\[\[[\s\S]*?\]\]/g, '')
    .replace(/^\s*--.*$/gm, '')
    .replace(/^[ \t]+/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim()
}

export function scriptNames() {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -'.lua'.length))
    .sort()
}

function generate() {
  const scripts = scriptNames().map(
    (name) => `export const ${name}: string = ${JSON.stringify(assemble(name))}\n`,
  )
  return `// Made by packages/server/lua.js from /lua. Do not edit: edit the scripts and run \`npm run lua\`.\n\n${scripts.join('\n')}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fresh = generate()
  if (!process.argv.includes('--check')) writeFileSync(target, fresh)
  else if (readFileSync(target, 'utf8') !== fresh) {
    console.error('packages/server/src/redis/scripts.ts is stale: run `npm run lua` and commit the result')
    process.exit(1)
  }
}
