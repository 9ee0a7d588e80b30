interface Emitter {
  readonly emitWarning?: (warning: string, type: string) => void
}

/** Where a warning goes unless the user takes it: the process's warnings, or the console where there is no process. */
function warnByDefault(message: string): void {
  const { process } = globalThis as { readonly process?: Emitter }
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, 'RatepactWarning')
  else console.warn(message)
}

/** Tells of a mistake, the first time that it is of its kind. Never throws. */
export type Warn = (kind: string, message: string) => void

export function createWarn(onWarning: (message: string) => unknown = warnByDefault): Warn {
  const told = new Set<string>()

  /** A listener watches; it must not be able to stop what it watches, not even later. */
  async function tell(message: string): Promise<void> {
    try {
      await onWarning(message)
    } catch {
      // See above.
    }
  }

  return (kind, message) => {
    if (told.has(kind)) return
    told.add(kind)
    void tell(message)
  }
}
