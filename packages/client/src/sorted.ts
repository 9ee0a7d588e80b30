interface Node<T> {
  readonly entry: T
  /** Drawn, and greater than those below it: so the tree stays flat, whatever comes in which order. */
  readonly drawn: number
  weight: number
  left: Node<T> | undefined
  right: Node<T> | undefined
}

/**
 * Entries in order, each with a weight (a treap). Adding, removing and asking how much stands before one take
 * O(log n). No two entries may be equal in order.
 */
export class Sorted<T> {
  readonly #compare: (a: T, b: T) => number
  readonly #weigh: (entry: T) => number
  #root: Node<T> | undefined
  #drawn = 1
  #size = 0

  /** @param compare negative when a comes before b */
  constructor(compare: (a: T, b: T) => number, weigh: (entry: T) => number = () => 0) {
    this.#compare = compare
    this.#weigh = weigh
  }

  get size(): number {
    return this.#size
  }

  /** The weight of all. */
  get weight(): number {
    return this.#root?.weight ?? 0
  }

  get first(): T | undefined {
    return end(this.#root, 'left')
  }

  get last(): T | undefined {
    return end(this.#root, 'right')
  }

  add(entry: T): void {
    this.#drawn = (Math.imul(this.#drawn, 1_103_515_245) + 12_345) >>> 0
    const [before, after] = this.#split(this.#root, entry)
    const node = { entry, drawn: this.#drawn, weight: 0, left: undefined, right: undefined }
    this.#root = this.#join(this.#join(before, this.#weighed(node)), after)
    this.#size += 1
  }

  remove(entry: T): void {
    this.#root = this.#without(this.#root, entry)
  }

  /** The weight of all entries before this one. */
  before(entry: T): number {
    let sum = 0
    for (let node = this.#root; node !== undefined; ) {
      if (this.#compare(node.entry, entry) < 0) {
        sum += node.weight - (node.right?.weight ?? 0)
        node = node.right
      } else node = node.left
    }
    return sum
  }

  #split(node: Node<T> | undefined, at: T): [before: Node<T> | undefined, after: Node<T> | undefined] {
    if (node === undefined) return [node, node]
    const goesBefore = this.#compare(node.entry, at) < 0
    const [before, after] = this.#split(goesBefore ? node.right : node.left, at)
    if (goesBefore) node.right = before
    else node.left = after
    this.#weighed(node)
    return goesBefore ? [node, after] : [before, node]
  }

  #join(before: Node<T> | undefined, after: Node<T> | undefined): Node<T> | undefined {
    if (before === undefined || after === undefined) return before ?? after
    if (before.drawn > after.drawn) {
      before.right = this.#join(before.right, after)
      return this.#weighed(before)
    }
    after.left = this.#join(before, after.left)
    return this.#weighed(after)
  }

  #without(node: Node<T> | undefined, entry: T): Node<T> | undefined {
    if (node === undefined) return node
    if (node.entry === entry) {
      this.#size -= 1
      return this.#join(node.left, node.right)
    }
    if (this.#compare(entry, node.entry) < 0) node.left = this.#without(node.left, entry)
    else node.right = this.#without(node.right, entry)
    return this.#weighed(node)
  }

  #weighed(node: Node<T>): Node<T> {
    node.weight = this.#weigh(node.entry) + (node.left?.weight ?? 0) + (node.right?.weight ?? 0)
    return node
  }
}

function end<T>(node: Node<T> | undefined, side: 'left' | 'right'): T | undefined {
  let last = node
  while (last?.[side] !== undefined) last = last[side]
  return last?.entry
}
