/** Asks again and again until the answer is yes; fails after `withinMs`, saying for what it waited. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  withinMs = 10_000,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`Waited ${withinMs} ms in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
