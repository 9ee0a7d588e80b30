// The public types of every entry point, written down in api/ so that a change to them is seen in review: what it
// exports, then every declaration of ours that those lead to. Reads what the build left in dist. With --check it only
// compares.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'api')

/** The statements of a file of declarations as tsc writes them: each begins at the start of a line. */
function statementsOf(file) {
  const text = readFileSync(file, 'utf8')
    .replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, '')
    .replace(/^\/\/.*$/gm, '')
  return text.split(/^(?=[a-z])/m).map((statement) => statement.trim())
}

/** The names in braces, each with the name it has where it comes from. */
function namesIn(braces) {
  return braces
    .split(',')
    .map((name) => name.trim().replace(/^type /, ''))
    .filter((name) => name !== '')
    .map((name) => name.split(' as '))
    .map(([theirs, ours = theirs]) => ({ theirs, ours }))
}

/** What a file declares, exports, and takes from other files. */
function readModule(file) {
  const module = { file, declared: new Map(), exported: new Map(), imported: new Map() }
  for (const statement of statementsOf(file)) {
    const list = /^(import|export) (?:type )?\{([^}]*)\}(?: from '(.+)')?;?$/.exec(statement)
    const named =
      /^(export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type) ([\w$]+)/.exec(statement)
    if (list) {
      const [, way, braces, from] = list
      for (const { theirs, ours } of namesIn(braces))
        (way === 'import' ? module.imported : module.exported).set(ours, { from, name: theirs })
    } else if (named) {
      const [, isExported, name] = named
      module.declared.set(name, [...(module.declared.get(name) ?? []), statement.replace(/^export /, '')])
      if (isExported) module.exported.set(name, { name })
    } else if (statement !== '') throw new Error(`${file}: cannot read ${statement}`)
  }
  return module
}

/** Adds the declaration of a name, and of every name in it, to `found`. */
function collect(module, name, modules, found) {
  const source = module.exported.get(name)?.from ? module.exported.get(name) : module.imported.get(name)
  if (source?.from?.startsWith('.')) {
    const file = join(dirname(module.file), source.from.replace(/\.js$/, '.d.ts'))
    if (!modules.has(file)) modules.set(file, readModule(file))
    return collect(modules.get(file), source.name, modules, found)
  }
  if (source?.from) return found.add(`import { ${source.name} } from '${source.from}'`)
  const text = module.declared.get(name)?.join('\n')
  if (text === undefined || found.has(text)) return
  found.add(text)
  for (const [word] of text.replace(/'[^']*'|"[^"]*"/g, '').matchAll(/[A-Za-z_$][\w$]*/g))
    if (module.declared.has(word) || module.imported.has(word)) collect(module, word, modules, found)
}

function report(entry) {
  const module = readModule(entry)
  const found = new Set()
  for (const name of module.exported.keys()) collect(module, name, new Map(), found)
  const exported = [...module.exported.keys()].sort()
  const exports = `export {\n${exported.map((name) => `    ${name}\n`).join('')}}`
  return `${[exports, ...[...found].sort()].join('\n\n')}\n`
}

function reports() {
  return new Map(
    readdirSync(join(root, 'packages')).flatMap((name) => {
      const about = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
      return Object.entries(about.exports)
        .filter(([, target]) => target.types !== undefined)
        .map(([path, target]) => [
          `${join(name, path).replaceAll('/', '-')}.txt`,
          report(join(root, 'packages', name, target.types)),
        ])
    }),
  )
}

function committed() {
  return new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
}

mkdirSync(folder, { recursive: true })
const now = reports()
const before = committed()
if (process.argv.includes('--check')) {
  const names = [...new Set([...now.keys(), ...before.keys()])]
  const changed = names.filter((name) => now.get(name) !== before.get(name))
  if (changed.length > 0) {
    console.error(`The public types are not those of ${changed.map((name) => `api/${name}`).join(', ')}:`)
    console.error('run `npm run api`, and commit the difference if it is meant.')
    process.exit(1)
  }
} else {
  for (const name of before.keys()) rmSync(join(folder, name))
  for (const [name, text] of now) writeFileSync(join(folder, name), text)
}
