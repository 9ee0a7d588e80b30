// What the client costs a page: bundled for the browser, minified and gzipped, without what is loaded only when asked
// for; and what the parts cost that are modules of their own. Fails when one outgrows its budget.
// node tools/size.js [--parts]: also how much of it is what, each file by its share of the minified bytes.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const client = '@ratepact/client'
const contract = ['@ratepact/contract']
const budgets = [
  { name: 'client, with all that it needs', path: client, budget: 29_520, external: [] },
  { name: 'client alone, without the contract', path: client, budget: 23_880, external: contract },
  {
    name: 'its interceptor for undici, likewise',
    path: `${client}/undici`,
    budget: 23_590,
    external: contract,
  },
  { name: 'its dialects, likewise', path: `${client}/dialects`, budget: 5_990, external: contract },
]

async function bundled(path, external) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export * from '${path}'`, resolveDir: root },
    conditions: ['@ratepact/source'],
    platform: 'browser',
    format: 'esm',
    bundle: true,
    splitting: true,
    outdir: 'size',
    minify: true,
    write: false,
    metafile: true,
    external,
  })
  const main = outputFiles.find(({ path }) => path.endsWith('stdin.js'))
  const { inputs } = metafile.outputs['size/stdin.js']
  return { bytes: gzipSync(main.contents, { level: 9 }).length, minified: main.contents.length, inputs }
}

/** What a file is there for, by its path: the first that fits. */
const parts = [
  ['structured-headers', /structured-headers/],
  ['contract: drafts without names, X-RateLimit', /contract\/src\/legacy/],
  ['contract: the rest', /contract\/src/],
  ['pace: sharing with other clients', /pace\/(sharing|rounds|burst)/],
  ['pace: servers that do not say how they refill', /pace\/(guess|votes|window-edge)/],
  [
    'pace: what is left of a limit, own calls',
    /pace\/(model|own-calls|level|limit\b|paced-limit|quota|round-trip)/,
  ],
  ['pace: refusals, other units, routes, all together', /pace\//],
  ['queue, lanes, fairness, deadlines', /\/(queue|lanes?|sorted|fair|alarm|waiting)\.ts/],
  ['options, checked', /\/(options|check|call-options|retry-options|dialect|backoff)\.ts/],
  [
    'bodies, signals, answers set aside',
    /\/(body|given|target|cancel|drain|peek|follow|stop-signal|attempt|sleep)\.ts/,
  ],
  ['calls, retries, events, partitions', /./],
]

function shares({ bytes, minified, inputs }) {
  const sums = new Map(parts.map(([name]) => [name, 0]))
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const [name] = parts.find(([, pattern]) => pattern.test(path))
    sums.set(name, sums.get(name) + bytesInOutput)
  }
  for (const [name, sum] of sums) console.log(`  ${Math.round((sum / minified) * bytes)} ${name}`)
}

for (const { name, path, budget, external } of budgets) {
  const bundle = await bundled(path, external)
  const { bytes } = bundle
  console.log(`${name}: ${bytes} bytes gzipped, of ${budget}`)
  if (process.argv.includes('--parts') && external.length === 0) shares(bundle)
  if (bytes <= budget) continue
  console.error(
    `Too big by ${bytes - budget} bytes: take something out, or argue for a larger budget in tools/size.js`,
  )
  process.exitCode = 1
}
