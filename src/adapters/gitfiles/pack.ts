import { createHash } from 'node:crypto'
import { inflate } from 'node:zlib'
import { runInSlices, type SlicedWork } from '../../core/slices.ts'
import { ByteReader } from './bytes.ts'
import { applyDelta } from './delta.ts'

export type GitObjectType = 'commit' | 'tree' | 'blob' | 'tag'
export type GitObject = { readonly type: GitObjectType; readonly bytes: Buffer }

/** Limits of a pack: number of objects, bytes of one object, bytes of all objects. */
export const PACK_LIMITS = { objects: 20_000, object: 8 * 1024 * 1024, all: 32 * 1024 * 1024 } as const

/** Rounds of resolving deltas. Git makes chains of at most 50; a longer one is meant to cost time. */
const MAX_DELTA_ROUNDS = 64

/** The pack declares too much: a small pack can inflate to gigabytes. */
export class PackTooLarge extends Error {}

const TYPES: Readonly<Record<number, GitObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' }
const [OFFSET_DELTA, REFERENCE_DELTA] = [6, 7]
const [HEADER, TRAILER] = [12, 20]

type Delta = { readonly at: number; readonly base: number | string; readonly bytes: Buffer }

/**
 * Reads a pack and returns its objects by id (gitformat-pack). Written here because existing libraries inflate whatever
 * a host sends, and tenants choose the hosts.
 *
 * @throws PackTooLarge; RangeError if the pack is malformed
 */
export async function readPack(pack: Buffer): Promise<ReadonlyMap<string, GitObject>> {
  if (pack.length < HEADER + TRAILER || pack.toString('latin1', 0, 4) !== 'PACK')
    throw new RangeError('It is not a pack.')
  const end = pack.length - TRAILER
  const sum = await runInSlices(hashInSlices(pack.subarray(0, end)))
  if (!sum.equals(pack.subarray(end))) throw new RangeError('The checksum of the pack is wrong.')
  const count = pack.readUInt32BE(8)
  if (count > PACK_LIMITS.objects) throw new PackTooLarge(`It has ${count} objects.`)
  const objects = new Objects()
  const deltas: Delta[] = []
  const reader = new ByteReader(pack, HEADER)
  for (let index = 0; index < count; index += 1) {
    const { at } = reader
    const header = readHeader(reader)
    const base = readBase(reader, header.type, at)
    if (header.size > PACK_LIMITS.object) throw new PackTooLarge(`An object has ${header.size} bytes.`)
    const { bytes, used } = await inflateObject(pack.subarray(reader.at, end), header.size)
    reader.at += used
    objects.count(bytes.length)
    const type = TYPES[header.type]
    if (type !== undefined) await runInSlices(objects.adding(at, { type, bytes }))
    else if (base !== undefined) deltas.push({ at, base, bytes })
    else throw new RangeError(`An object is of type ${header.type}.`)
  }
  await runInSlices(objects.resolving(deltas))
  return objects.byId
}

/** Bytes to hash between two yields, which takes half a millisecond. */
const HASH_SLICE_BYTES = 262_144

function* hashInSlices(bytes: Buffer, before = ''): SlicedWork<Buffer> {
  const sum = createHash('sha1').update(before)
  for (let at = 0; at < bytes.length; at += HASH_SLICE_BYTES) {
    sum.update(bytes.subarray(at, at + HASH_SLICE_BYTES))
    yield
  }
  return sum.digest()
}

class Objects {
  readonly byId = new Map<string, GitObject>()
  readonly #byPlace = new Map<number, GitObject>()
  #bytes = 0

  count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > PACK_LIMITS.all) throw new PackTooLarge('All its objects together are too large.')
  }

  *adding(at: number, object: GitObject): SlicedWork<void> {
    const { type, bytes } = object
    const id = (yield* hashInSlices(bytes, `${type} ${bytes.length}\0`)).toString('hex')
    this.#byPlace.set(at, object)
    this.byId.set(id, object)
  }

  /** Resolves deltas in rounds, because a base that is referenced by id may come after its delta. */
  *resolving(deltas: readonly Delta[]): SlicedWork<void> {
    for (let open = deltas, round = 0; open.length > 0; round += 1) {
      const left: Delta[] = []
      for (const delta of open) {
        yield
        if (!(yield* this.#resolveDelta(delta))) left.push(delta)
      }
      if (left.length === open.length || round === MAX_DELTA_ROUNDS)
        throw new RangeError('The base object of a delta is missing.')
      open = left
    }
  }

  *#resolveDelta({ at, base, bytes }: Delta): SlicedWork<boolean> {
    const found = typeof base === 'number' ? this.#byPlace.get(base) : this.byId.get(base)
    if (found === undefined) return false
    const whole = yield* applyDelta(found.bytes, bytes, (size) => {
      if (size > PACK_LIMITS.object) throw new PackTooLarge(`An object has ${size} bytes.`)
      this.count(size)
    })
    yield* this.adding(at, { type: found.type, bytes: whole })
    return true
  }
}

function readHeader(reader: ByteReader): { type: number; size: number } {
  const byte = reader.byte()
  const rest = (byte & 0x80) === 0 ? 0 : reader.size()
  return { type: (byte >> 4) & 7, size: (byte & 15) + rest * 16 }
}

/** Reads the base of a delta: its offset in this pack, or its id. */
function readBase(reader: ByteReader, type: number, at: number): number | string | undefined {
  if (type === REFERENCE_DELTA) return reader.id()
  return type === OFFSET_DELTA ? at - reader.distance(at) : undefined
}

type Engine = { engine: { bytesWritten: number }; buffer: Buffer }

/** Inflates off the main thread, to at most the declared size. */
function inflateObject(from: Buffer, size: number): Promise<{ bytes: Buffer; used: number }> {
  return new Promise((resolve, reject) => {
    // zlib treats a limit of 0 as no limit.
    const limits = { maxOutputLength: Math.max(1, size), info: true }
    inflate(from, limits, (error, result) => {
      const { engine, buffer } = (result ?? {}) as unknown as Engine
      if (error !== null || buffer?.length !== size)
        reject(new RangeError('An object does not have its declared length.'))
      else resolve({ bytes: buffer, used: engine.bytesWritten })
    })
  })
}
