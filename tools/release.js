// Whether the tag given may be published: every package carries its version and depends on the others by just that,
// and the changelog has a section for it.
import { readdirSync, readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const read = (path) => readFileSync(new URL(path, root), 'utf8')
const version = /^v(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(process.argv[2] ?? '')?.[1]
const faults = []

if (version === undefined) faults.push(`Expected a tag like v1.2.3, got ${process.argv[2]}`)
for (const folder of readdirSync(new URL('packages', root))) {
  const about = JSON.parse(read(`packages/${folder}/package.json`))
  if (about.version !== version) faults.push(`${about.name} carries ${about.version}`)
  for (const [name, range] of Object.entries(about.dependencies))
    if (name.startsWith('@ratepact/') && range !== version)
      faults.push(`${about.name} depends on ${name} ${range}`)
}
const sections = read('CHANGELOG.md').matchAll(/^## (\S+) \(\d{4}-\d\d-\d\d\)$/gm)
if (!Array.from(sections, ([, name]) => name).includes(version))
  faults.push(`CHANGELOG.md has no section "## ${version} (year-month-day)"`)

if (faults.length > 0) {
  console.error(faults.join('\n'))
  process.exit(1)
}
