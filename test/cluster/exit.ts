import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** How a process ends that uses a limiter once, leaves it open and has nothing more to do. */
export async function exitOf(
  way: string,
  ...ports: readonly number[]
): Promise<[number | null, string | null]> {
  const file = fileURLToPath(new URL('idle.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@ratepact/source', file, way, ...ports.map(String)],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return (await once(child, 'exit')) as [number | null, string | null]
}
