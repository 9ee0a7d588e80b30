import { describe, it, onTestFinished } from 'vitest'
import { essential, more } from './faults.js'
import { clientOf, startGround, watchAll } from './ground.js'
import { suffer } from './suffer.js'

const all = process.env.FAULTS === 'all' || process.env.FAULTS_TABLE === 'write'

describe.each(all ? [...essential, ...more] : essential)('$name', (fault) => {
  it('is met by each mode as it says, and is over when it is over', { timeout: 60_000 }, async () => {
    const ground = await startGround()
    onTestFinished(() => ground.stop())
    await fault.prepare?.(ground)
    const watched = await watchAll(() => clientOf(ground.proxy.port), fault)
    await suffer(fault, ground, watched)
  })
})
