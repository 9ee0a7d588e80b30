// Runs the programs of examples/adapters and writes what they answer into docs/adapters.md, as `curl -i` shows it: a call
// that passes, one too many, and one while the store cannot be asked. With --check it only compares. Time stands still.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { serve } from '@hono/node-server'
import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { expressApp } from '../examples/adapters/express.js'
import { fastifyApp } from '../examples/adapters/fastify.js'
import { fetchHandler } from '../examples/adapters/fetch.js'
import { honoApp } from '../examples/adapters/hono.js'
import { koaApp } from '../examples/adapters/koa.js'
import { nestApp } from '../examples/adapters/nest.js'
import { nextRoute } from '../examples/adapters/next.js'
import { nodeServer } from '../examples/adapters/node.js'

const page = new URL('../docs/adapters.md', import.meta.url)
const [BEGIN, END] = [
  '<!-- transcripts: written by tools/transcripts.js -->\n',
  '<!-- end of transcripts -->',
]
const NOT_SHOWN = /^(date|connection|keep-alive|etag)$/i

const overFetch = (fetch) => serve({ fetch, port: 0, hostname: '127.0.0.1' })
const started = async (app, server) => {
  await app
  return server()
}

/** By the name of the example, each listening on a port of its own in the end. */
const fronts = {
  Express: ['express', (limiter) => createServer(expressApp(limiter))],
  Fastify: [
    'fastify',
    async (limiter) => {
      const app = await fastifyApp(limiter)
      return started(app.listen({ port: 0, host: '127.0.0.1' }), () => app.server)
    },
  ],
  Koa: ['koa', (limiter) => createServer(koaApp(limiter).callback())],
  Nest: [
    'nest',
    async (limiter) => {
      const app = await nestApp(limiter)
      return started(app.listen(0, '127.0.0.1'), () => app.getHttpServer())
    },
  ],
  'node:http': ['node', nodeServer],
  'Fetch handlers: Deno, Bun, Workers': [
    'fetch',
    (limiter) => {
      const handle = fetchHandler(limiter)
      return overFetch((request) => handle(request, { remoteAddr: { hostname: '203.0.113.7' } }))
    },
  ],
  Hono: ['hono', (limiter) => overFetch(honoApp(limiter).fetch)],
  'Next.js': [
    'next',
    (limiter) => {
      const { GET } = nextRoute(limiter, () => 'ann')
      return overFetch((request) => GET(request, { params: Promise.resolve({ id: '1' }) }))
    },
  ],
}

function ask(port, path) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        body += chunk
      })
      answer.on('end', () => {
        const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`]
        for (let i = 0; i < answer.rawHeaders.length; i += 2) {
          const [name, value] = answer.rawHeaders.slice(i, i + 2)
          if (!NOT_SHOWN.test(name)) lines.push(`${name}: ${value}`)
        }
        resolve([...lines, '', body].join('\n'))
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

async function transcripts([file, open]) {
  const clock = { now: () => 0 }
  const inner = memoryStore({ clock })
  let down = false
  const store = {
    ...inner,
    name: 'standing still',
    run: (ops, deadlineMs) => (down ? Promise.reject(new Error('gone')) : inner.run(ops, deadlineMs)),
  }
  const policies = [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.1 })]
  const server = await open(createLimiter({ store, policies, onStoreFailure: 'closed' }))
  if (!server.listening) {
    if (server.address() === null) server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
  }
  const path = file === 'next' ? '/orders/1' : '/orders'
  const { port } = server.address()
  const answers = [await ask(port, path), await ask(port, path)]
  down = true
  answers.push(await ask(port, path))
  server.closeAllConnections()
  server.close()
  return answers
}

const parts = []
for (const [title, front] of Object.entries(fronts)) {
  const source = readFileSync(new URL(`../examples/adapters/${front[0]}.ts`, import.meta.url), 'utf8')
  const shown = (await transcripts(front)).map((answer) => `\`\`\`\n${answer}\n\`\`\``)
  parts.push(`## ${title}\n\n\`\`\`ts\n${source}\`\`\`\n\n${shown.join('\n\n')}\n`)
}

const text = readFileSync(page, 'utf8')
const [before, rest] = text.split(BEGIN)
const after = rest.split(END)[1]
const fresh = `${before}${BEGIN}\n${parts.join('\n')}\n${END}${after}`
if (!process.argv.includes('--check')) writeFileSync(page, fresh)
else if (fresh !== text) {
  console.error(
    'docs/adapters.md does not show what is answered: run `npm run transcripts` and commit the result',
  )
  process.exit(1)
}
process.exit()
