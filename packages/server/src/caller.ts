import { short } from './short.js'

/**
 * One text per set of buckets. Where only one kind is counted its value tells who calls; else lengths go before what
 * callers choose, so that no two sets share one. Undefined where the partition is not what it must be.
 * @param scope only where a policy counts per scope
 */
export function callerOf(
  partition: unknown,
  scope: string | undefined,
  plan: string | undefined,
  kinds: readonly string[],
): string | undefined {
  const who = kinds.length === 1 ? theOne(partition, kinds[0] as string) : several(partition)
  if (who === undefined || (plan === undefined && scope === undefined)) return who
  const called = scope && short(scope)
  return `${plan ?? ''} ${called?.length}:${called} ${who}`
}

function theOne(partition: unknown, kind: string): string | undefined {
  if (typeof partition === 'string') return kind === 'client' ? short(partition) : undefined
  if (typeof partition !== 'object' || partition === null) return undefined
  const named = Object.keys(partition)
  const value = (partition as Readonly<Record<string, unknown>>)[kind]
  return named.length === 1 && named[0] === kind && typeof value === 'string' ? short(value) : undefined
}

function several(partition: unknown): string | undefined {
  if (typeof partition === 'string') return `=${short(partition)}`
  if (typeof partition !== 'object' || partition === null) return undefined
  let caller = ''
  for (const kind of Object.keys(partition)) {
    const value = (partition as Readonly<Record<string, unknown>>)[kind]
    if (typeof value !== 'string') return undefined
    const own = short(value)
    caller += `${kind} ${own.length}:${own} `
  }
  return caller
}
