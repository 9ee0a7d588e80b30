// What the client costs a page: bundled for the browser, minified and gzipped, without what is loaded only when asked
// for. Fails when it outgrows its budget.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const budgets = [
  { name: 'client, with all that it needs', budget: 27_900, external: [] },
  { name: 'client alone, without the contract', budget: 22_200, external: ['@ratepact/contract'] },
]

async function gzippedBytes(external) {
  const { outputFiles } = await build({
    stdin: { contents: "export * from '@ratepact/client'", resolveDir: root },
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

for (const { name, budget, external } of budgets) {
  const bytes = await gzippedBytes(external)
  console.log(`${name}: ${bytes} bytes gzipped, of ${budget}`)
  if (bytes <= budget) continue
  console.error(
    `Too big by ${bytes - budget} bytes: take something out, or argue for a larger budget in tools/size.js`,
  )
  process.exitCode = 1
}
