import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

const program = `
  import { createServer } from 'node:http'
  import { createFetch } from '@ratepact/client'
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    if (requests === 2) response.writeHead(429, { 'retry-after': '1', ratelimit: '"a";r=0;t=1' }).end('later')
    else response.writeHead(200, { ratelimit: '"a";r=9;t=1', 'ratelimit-policy': '"a";q=10;w=1' }).end('ok')
  })
  server.listen(0, '127.0.0.1', async () => {
    const api = createFetch({ maxWaitSeconds: 600 })
    const url = 'http://127.0.0.1:' + server.address().port
    const controller = new AbortController()
    const responses = await Promise.all([1, 2, 3].map(() => api(url, { signal: controller.signal })))
    for (const response of responses) await response.text()
    console.log(responses.map((response) => response.status).join())
    server.close()
    server.closeAllConnections()
  })
`

it('a process ends by itself after its last call, and waits for the calls that wait', async () => {
  const args = ['--import', 'tsx', '--conditions=@ratepact/source', '--input-type=module', '-e', program]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const giveUp = setTimeout(() => child.kill(), 15_000)
  const [code] = await once(child, 'exit')
  clearTimeout(giveUp)
  expect({ code, output: output.trim() }).toEqual({ code: 0, output: '200,200,200' })
})
