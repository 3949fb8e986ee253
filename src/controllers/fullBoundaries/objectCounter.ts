/**
 * Counts objects per boundary, by namespace and kind, so that an event has constant cost. A namespace counts as soon as
 * its room is known.
 */
export class ObjectCounter {
  /** By namespace, then by kind. */
  readonly #counted = new Map<string, Map<string, number>>()
  readonly #roomOf = new Map<string, string>()
  readonly #rooms = new Map<string, { held: number; namespaces: Set<string> }>()

  /** Sets the number of objects of a kind in a namespace. */
  count(namespace: string, kind: string, now: number): void {
    const kinds = this.#counted.get(namespace) ?? new Map<string, number>()
    const difference = now - (kinds.get(kind) ?? 0)
    if (now === 0) kinds.delete(kind)
    else kinds.set(kind, now)
    if (kinds.size === 0) this.#counted.delete(namespace)
    else this.#counted.set(namespace, kinds)
    const room = this.#rooms.get(this.#roomOf.get(namespace) ?? '')
    if (room !== undefined) room.held += difference
  }

  /** @param room undefined for a namespace that was deleted or belongs to no boundary */
  place(namespace: string, room: string | undefined): void {
    const before = this.#roomOf.get(namespace)
    if (before === room) return
    const held = [...(this.#counted.get(namespace)?.values() ?? [])].reduce((all, one) => all + one, 0)
    const previousRoom = this.#rooms.get(before ?? '')
    if (before !== undefined && previousRoom !== undefined) {
      previousRoom.held -= held
      previousRoom.namespaces.delete(namespace)
      if (previousRoom.namespaces.size === 0) this.#rooms.delete(before)
    }
    if (room === undefined) {
      this.#roomOf.delete(namespace)
      return
    }
    this.#roomOf.set(namespace, room)
    const nextRoom = this.#rooms.get(room) ?? { held: 0, namespaces: new Set() }
    nextRoom.held += held
    nextRoom.namespaces.add(namespace)
    this.#rooms.set(room, nextRoom)
  }

  roomOf(namespace: string): string | undefined {
    return this.#roomOf.get(namespace)
  }

  heldIn(room: string): number {
    return this.#rooms.get(room)?.held ?? 0
  }

  namespacesOf(room: string): readonly string[] {
    return [...(this.#rooms.get(room)?.namespaces ?? [])]
  }

  get rooms(): readonly string[] {
    return [...this.#rooms.keys()]
  }
}
