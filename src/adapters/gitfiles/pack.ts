import { createHash } from 'node:crypto'
import { inflate } from 'node:zlib'
import { applyDelta, sizeAt } from './delta.ts'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'
export type GitObject = { readonly type: ObjectType; readonly data: Buffer }
/** By id. */
export type GitObjects = Map<string, GitObject>

/**
 * How much a pack may unpack to. A few kilobytes can say that they are gigabytes, whoever made them, and everything is in
 * the memory of the operator.
 */
export type PackLimits = { readonly objects: number; readonly objectBytes: number; readonly bytes: number }
export const PACK_LIMITS: PackLimits = { objects: 20_000, objectBytes: 8 * 1024 * 1024, bytes: 64 * 1024 * 1024 }

/** The message is ours: nothing of the pack is in it. */
export class PackRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PackRefused'
  }
}

const TYPES: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' }
const OFFSET_DELTA = 6
const REFERENCE_DELTA = 7
/** A chain of changes that is longer is made to cost time. */
const ROUNDS = 64

/** What stands in a pack: an object, or what changes another one into it. */
type Entry = { at: number; type: number; data: Buffer; base?: number | string }

/**
 * Adds the objects of a pack (gitformat-pack, version 2) to those that are known, by their ids: whoever walks from an id finds
 * what that id means or nothing.
 *
 * @throws PackRefused for a pack that is broken or goes beyond its limits
 */
export async function readPack(pack: Buffer, objects: GitObjects, limits: PackLimits = PACK_LIMITS): Promise<void> {
  const count = countOf(pack)
  if (count > limits.objects) throw new PackRefused(`it has more than ${limits.objects} files and folders`)
  const budget = new Budget(limits)
  const entries: Entry[] = []
  let at = 12
  for (let index = 0; index < count; index += 1) {
    const { entry, next } = await readEntry(pack, at, budget)
    entries.push(entry)
    at = next
  }
  resolve(entries, objects, budget)
}

function countOf(pack: Buffer): number {
  if (pack.length < 32 || pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2) throw broken()
  return pack.readUInt32BE(8)
}

class Budget {
  readonly #objectBytes: number
  #left: number

  constructor({ objectBytes, bytes }: PackLimits) {
    this.#objectBytes = objectBytes
    this.#left = bytes
  }

  /** @throws PackRefused */
  take(size: number): void {
    this.#left -= size
    if (size > this.#objectBytes || this.#left < 0) throw new PackRefused('it holds more than is read of a repository')
  }
}

async function readEntry(pack: Buffer, start: number, budget: Budget): Promise<{ entry: Entry; next: number }> {
  let at = start
  const first = byteAt(pack, at++)
  const type = (first >> 4) & 7
  let size = first & 15
  for (let shift = 4, byte = first; byte & 0x80; shift += 7) {
    byte = byteAt(pack, at++)
    size += (byte & 0x7f) * 2 ** shift
  }
  budget.take(size)
  let base: number | string | undefined
  if (type === OFFSET_DELTA) {
    let byte = byteAt(pack, at++)
    let back = byte & 0x7f
    while (byte & 0x80) {
      byte = byteAt(pack, at++)
      back = (back + 1) * 128 + (byte & 0x7f)
    }
    base = start - back
  } else if (type === REFERENCE_DELTA) {
    base = pack.toString('hex', at, at + 20)
    at += 20
  } else if (TYPES[type] === undefined) throw broken()
  const { data, consumed } = await inflated(pack.subarray(at), size)
  return { entry: { at: start, type, data, ...(base !== undefined && { base }) }, next: at + consumed }
}

/** Off this thread, and never longer than it says itself. */
function inflated(bytes: Buffer, size: number): Promise<{ data: Buffer; consumed: number }> {
  return new Promise((done, failed) => {
    inflate(bytes, { maxOutputLength: Math.max(1, size), info: true }, (error, result) => {
      // With `info` it is both (Node: zlib, convenience methods); its types do not say so.
      const { buffer, engine } = (result ?? {}) as unknown as { buffer?: Buffer; engine?: { bytesWritten: number } }
      if (error !== null || buffer?.length !== size || engine === undefined) failed(broken())
      else done({ data: buffer, consumed: engine.bytesWritten })
    })
  })
}

/** A change may stand before what it changes. */
function resolve(entries: readonly Entry[], objects: GitObjects, budget: Budget): void {
  const byOffset = new Map<number, GitObject>()
  let waiting = entries
  for (let round = 0; waiting.length > 0; round += 1) {
    const left = waiting.filter((entry) => {
      const { at, type, data, base } = entry
      const plain = TYPES[type]
      const found = typeof base === 'number' ? byOffset.get(base) : objects.get(base ?? '')
      if (plain === undefined && found === undefined) return true
      const object = plain === undefined ? changed(found as GitObject, data, budget) : { type: plain, data }
      byOffset.set(at, object)
      objects.set(idOf(object), object)
      return false
    })
    if (left.length === waiting.length || round === ROUNDS) throw broken()
    waiting = left
  }
}

function changed(base: GitObject, delta: Buffer, budget: Budget): GitObject {
  const source = sizeAt(delta, 0)
  budget.take(sizeAt(delta, source.next).size)
  const data = applyDelta(base.data, delta)
  if (data === undefined) throw broken()
  return { type: base.type, data }
}

function idOf({ type, data }: GitObject): string {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at]
  if (byte === undefined) throw broken()
  return byte
}

function broken(): PackRefused {
  return new PackRefused('its pack is broken')
}
