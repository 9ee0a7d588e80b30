// What the client costs a page: bundled for the browser, minified and gzipped, without what is loaded only when asked
// for; and what the parts cost that are modules of their own. Fails when one outgrows its budget.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const client = '@ratepact/client'
const contract = ['@ratepact/contract']
const budgets = [
  { name: 'client, with all that it needs', path: client, budget: 28_250, external: [] },
  { name: 'client alone, without the contract', path: client, budget: 22_450, external: contract },
  { name: 'its dialects, likewise', path: `${client}/dialects`, budget: 5_950, external: contract },
]

async function gzippedBytes(path, external) {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${path}'`, resolveDir: root },
    conditions: ['@ratepact/source'],
    platform: 'browser',
    format: 'esm',
    bundle: true,
    splitting: true,
    outdir: 'size',
    minify: true,
    write: false,
    external,
  })
  const main = outputFiles.find(({ path }) => path.endsWith('stdin.js'))
  return gzipSync(main.contents, { level: 9 }).length
}

for (const { name, path, budget, external } of budgets) {
  const bytes = await gzippedBytes(path, external)
  console.log(`${name}: ${bytes} bytes gzipped, of ${budget}`)
  if (bytes <= budget) continue
  console.error(
    `Too big by ${bytes - budget} bytes: take something out, or argue for a larger budget in tools/size.js`,
  )
  process.exitCode = 1
}
