// Bytes that Redis takes per limited client, counted as growth of used_memory over 20 000 clients; the key's name is of
// the same length for all. node bytes.js
import { contenders } from './contenders.js'
import { startRedis } from './redis.js'

const CLIENTS = 20_000
const redis = await startRedis()
const used = async () => Number(/used_memory:(\d+)/.exec(await redis.admin.info('memory'))?.[1])

console.log('| | bytes per client | keys per client |\n|---|---|---|')
for (const [name, make] of Object.entries(contenders)) {
  if (/return 1|block|deny/.test(name)) continue
  await redis.admin.flushall()
  const client = redis.client()
  const { check, close } = make(client, 1_000_000)
  await check('warm-up')
  const before = [await used(), await redis.admin.dbsize()]
  for (let i = 0; i < CLIENTS; i += 100)
    await Promise.all(Array.from({ length: 100 }, (_, n) => check(`client-${100_000 + i + n}`)))
  const bytes = ((await used()) - before[0]) / CLIENTS
  const keys = ((await redis.admin.dbsize()) - before[1]) / CLIENTS
  console.log(`| ${name} | ${bytes.toFixed(0)} | ${keys.toFixed(2)} |`)
  await close?.()
  client.disconnect()
}
await redis.stop()
