import { joinPath, pathSegments, type VolumeFolder } from '../../../contracts/files.ts'
import { OpenEntry } from './openEntry.ts'
import { Refused } from './refused.ts'

/** The kernel's own limit (path_resolution(7)). */
const MAX_LINKS = 40

/** The target of a path. A `virtual` folder only holds mounts below it. */
export type ResolvedPath = { kind: 'held'; held: OpenEntry } | { kind: 'virtual'; names: string[] }

/** A name in a folder, whether or not it exists. */
export type Slot = { folder: OpenEntry; name: string; path: string }

type Mount = { segments: string[]; folder: string }

/**
 * The mounted volumes of a container as one tree. Links are followed while they stay within the volumes: each step is
 * looked up in a folder that is held open, and `..` in a link returns to a folder that was passed. This leaves no gap
 * between checking a path and using it.
 */
export class Tree {
  readonly #mounts: readonly Mount[]
  readonly #open: OpenEntry[] = []

  constructor(volumes: readonly VolumeFolder[]) {
    this.#mounts = volumes.map(({ path, folder }) => ({ segments: pathSegments(path) ?? [], folder }))
  }

  /** @throws Refused NotAllowed, NotFound */
  find(path: string): ResolvedPath {
    const segments = segmentsOf(path)
    const mount = this.#mountOf(segments)
    if (mount !== undefined) return { kind: 'held', held: this.#walk(mount, segments.slice(mount.segments.length)) }
    const names = this.#mounts
      .filter((one) => segments.every((segment, at) => one.segments[at] === segment))
      .map((one) => one.segments[segments.length] ?? '')
    if (names.length === 0) throw new Refused('NotAllowed')
    return { kind: 'virtual', names: [...new Set(names)] }
  }

  /** @throws Refused NotAllowed outside the volumes; NotFound also for a file */
  folder(path: string): OpenEntry {
    const found = this.find(path)
    if (found.kind === 'virtual') throw new Refused('NotAllowed')
    if (!found.held.stats.isDirectory()) throw new Refused('NotFound')
    return found.held
  }

  /** Returns a place to create, move or delete at. @throws Refused NotAllowed for a mount; NotFound without a folder */
  slot(path: string): Slot {
    const segments = segmentsOf(path)
    const name = segments.pop()
    const mount = this.#mountOf(segments)
    const isMount = this.#mountOf([...segments, name ?? ''])?.segments.length === segments.length + 1
    if (name === undefined || mount === undefined || isMount) throw new Refused('NotAllowed')
    return { folder: this.folder(joinPath(segments)), name, path: joinPath([...segments, name]) }
  }

  /** Keeps it open until the tree is closed. */
  hold(held: OpenEntry): OpenEntry {
    this.#open.push(held)
    return held
  }

  close(): void {
    for (const held of this.#open.splice(0)) held.close()
  }

  /** Returns the innermost mount that contains the path. */
  #mountOf(segments: readonly string[]): Mount | undefined {
    return this.#mounts
      .filter((mount) => mount.segments.every((segment, at) => segments[at] === segment))
      .sort((a, b) => b.segments.length - a.segments.length)[0]
  }

  #walk(from: Mount, segments: readonly string[]): OpenEntry {
    let walk = { passed: [this.hold(OpenEntry.folder(from.folder))], pending: [...segments] }
    for (let links = 0; walk.pending.length > 0; ) {
      const { passed, pending } = walk
      const name = pending.shift() ?? ''
      const folder = requireLast(passed)
      if (name === '..') {
        passed.pop()
        continue
      }
      const child = this.hold(folder.child(name))
      if (child.stats.isSymbolicLink()) {
        links += 1
        if (links > MAX_LINKS) throw new Refused('NotAllowed')
        walk = this.#followLink(folder.linkOf(name), passed, pending)
      } else if (child.stats.isDirectory()) passed.push(child)
      else if (pending.length === 0) return child
      else throw new Refused('NotFound')
    }
    return requireLast(walk.passed)
  }

  /** A relative link continues from its folder, an absolute one from the mount that it names. */
  #followLink(target: string | undefined, passed: OpenEntry[], pending: readonly string[]) {
    if (target === undefined) throw new Refused('NotAllowed')
    if (!target.startsWith('/')) return { passed, pending: [...partsOf(target), ...pending] }
    const { mount, rest } = this.#mountOfLink(target)
    return { passed: [this.hold(OpenEntry.folder(mount.folder))], pending: [...rest, ...pending] }
  }

  /** An absolute link is a path in the container. One that leaves its mount again through `..` is refused. */
  #mountOfLink(target: string): { mount: Mount; rest: string[] } {
    const parts = partsOf(target)
    const plain = parts.slice(0, parts.includes('..') ? parts.indexOf('..') : parts.length)
    const mount = this.#mountOf(plain)
    if (mount === undefined) throw new Refused('NotAllowed')
    return { mount, rest: parts.slice(mount.segments.length) }
  }
}

/** @throws Refused NotAllowed if a link went above its mount */
function requireLast(passed: readonly OpenEntry[]): OpenEntry {
  const last = passed.at(-1)
  if (last === undefined) throw new Refused('NotAllowed')
  return last
}

const partsOf = (target: string) => target.split('/').filter((part) => part !== '' && part !== '.')

function segmentsOf(path: string): string[] {
  const segments = pathSegments(path)
  if (segments === undefined) throw new Refused('NotAllowed')
  return segments
}
