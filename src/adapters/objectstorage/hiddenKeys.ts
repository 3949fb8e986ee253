import { isUtf8 } from 'node:buffer'
import type { HiddenObjects, HiddenState, Options } from './calls.ts'
import type { ExactKeys, Listed } from './exactKeys.ts'
import { attempt, codeOf, statusOf } from './failures.ts'

/** What stores write into a list for each character that XML cannot carry, and for each byte that is no UTF-8. */
const STAND_IN = '\ufffd'

const LONE_EF = 0xef
const bytes = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)
/**
 * All that it may stand for. The byte that begins U+FFFD and its neighbours comes last: while there is none of these, it
 * stands alone.
 */
const CANDIDATES: readonly Buffer[] = [
  ...bytes(0x01, 0x1f)
    .filter((byte) => ![0x09, 0x0a, 0x0d].includes(byte))
    .map((byte) => Buffer.of(byte)),
  ...['\ufffd', '\ufffe', '\uffff'].map((character) => Buffer.from(character)),
  ...bytes(0x80, 0xff)
    .filter((byte) => byte !== LONE_EF)
    .map((byte) => Buffer.of(byte)),
  Buffer.of(LONE_EF),
]

/** Whether a list that a client read may say another key than the store has, or a body could not carry it back. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot carry
const UNSPEAKABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffd-\uffff]/
export const isSpeakable = (key: string | undefined): key is string =>
  key !== undefined && key.trim() !== '' && key.isWellFormed() && !UNSPEAKABLE.test(key)

/** How far the search for one key has come: its bytes up to a place in how it is shown. */
type Search = { shown: string; at: number; found: Buffer }

/** Lists that one call asks for: a pass of a controller must end. The next one goes on where it ended. */
const LISTS_PER_CALL = 1_000

/** Finds objects whose keys a list cannot say by asking what begins with what, and deletes them one by one. */
export class HiddenKeys implements HiddenObjects {
  readonly #keys: ExactKeys
  readonly #searches = new Map<string, Search>()

  constructor(keys: ExactKeys) {
    this.#keys = keys
  }

  /** Deletes some of what the first page of the bucket holds. @throws StoreError */
  async remove(bucket: string, options: Options): Promise<HiddenState> {
    const pass = new Pass(this.#keys, bucket, options)
    const all = await pass.list(Buffer.alloc(0))
    const isHidden = ({ shown, exact }: Listed) => exact === undefined && shown.includes(STAND_IN)
    for (const entry of all.filter((one) => !isHidden(one))) {
      await pass.remove(entry.exact ?? Buffer.from(entry.shown), entry.shown)
    }
    const hidden = all.filter(isHidden).map(({ shown }) => shown)
    for (const shown of new Set(hidden)) {
      // Several keys may be shown alike.
      for (let left = hidden.filter((one) => one === shown).length; left > 0; ) {
        const search = this.#searches.get(bucket) ?? { shown, at: 0, found: Buffer.alloc(0) }
        this.#searches.set(bucket, search)
        const state = await advance(search, pass)
        if (state === 'Paused') return pass.removed > 0 ? 'Removed' : 'Paused'
        this.#searches.delete(bucket)
        const gone = state === 'Lost' ? 0 : await pass.remove(search.found, search.shown)
        if (gone === 0) break
        left -= gone
      }
    }
    if (pass.removed > 0) return 'Removed'
    return pass.refused > 0 ? 'Locked' : 'Stuck'
  }

  /** Deletes some of the folders of a bucket in which nothing else is listed. @throws StoreError */
  async removeFolders(bucket: string, options: Options): Promise<HiddenState> {
    const pass = new Pass(this.#keys, bucket, options, 'folders')
    const state = await this.#removeBelow({ shown: '', key: Buffer.alloc(0) }, pass)
    return pass.removed > 0 ? 'Removed' : state
  }

  /** Those that lie deepest first: a store deletes none that holds another. */
  async #removeBelow(above: Folder, pass: Pass): Promise<'Stuck' | 'Paused'> {
    for (const entry of await pass.list(above.key)) {
      if (pass.isOver()) return 'Paused'
      const folder = await this.#folder(entry, above, pass)
      if (folder === 'Lost') continue
      if (folder === 'Paused' || (await this.#removeBelow(folder, pass)) === 'Paused') return 'Paused'
      await pass.removeFolder(folder)
    }
    return 'Stuck'
  }

  async #folder({ shown, exact }: Listed, above: Folder, pass: Pass): Promise<Folder | 'Lost' | 'Paused'> {
    if (exact !== undefined) return { shown, key: exact }
    const id = `${pass.bucket}/${shown}`
    const search = this.#searches.get(id) ?? { shown, at: above.shown.length, found: above.key }
    this.#searches.set(id, search)
    const state = await advance(search, pass)
    if (state === 'Paused') return state
    this.#searches.delete(id)
    return state === 'Lost' ? state : { shown: search.shown, key: search.found }
  }
}

/** A folder as lists show it, and its key. */
type Folder = { shown: string; key: Buffer }

class Pass {
  removed = 0
  refused = 0
  candidates = CANDIDATES
  readonly bucket: string
  readonly #keys: ExactKeys
  readonly #options: Options
  readonly #looksFor: 'list' | 'folders'
  #lists = 0

  constructor(keys: ExactKeys, bucket: string, options: Options, looksFor: 'list' | 'folders' = 'list') {
    this.bucket = bucket
    this.#keys = keys
    this.#options = options
    this.#looksFor = looksFor
  }

  isOver(): boolean {
    return this.#lists >= LISTS_PER_CALL
  }

  list(prefix: Buffer): Promise<readonly Listed[]> {
    this.#lists += 1
    const call = () => this.#keys[this.#looksFor](this.bucket, prefix, this.#options)
    // A store that can only be asked for Unicode has nothing else either.
    return this.#attempt(() => (isUtf8(prefix) ? call() : call().catch(nothing)))
  }

  /** How many of its versions are listed no more: a store says of a key that it does not have that it is deleted. */
  async remove(key: Buffer, shown: string): Promise<number> {
    const versions = async () => (await this.list(key)).filter((one) => one.shown === shown)
    const before = await versions()
    for (const { versionId } of before) {
      const call = () => this.#keys.remove(this.bucket, key, versionId, this.#options)
      this.refused += await this.#attempt(() => call().then(() => 0, refusal))
    }
    const gone = Math.max(0, before.length - (await versions()).length)
    this.removed += gone
    return gone
  }

  /** A store says of one that it keeps that it is deleted, or why it keeps it. */
  async removeFolder({ shown, key }: Folder): Promise<void> {
    const call = () => this.#keys.remove(this.bucket, key, undefined, this.#options)
    await this.#attempt(() => call().catch(nothing))
    const beside = await this.list(key.subarray(0, -1))
    if (!beside.some((one) => one.shown === shown)) this.removed += 1
  }

  async #attempt<T>(call: () => Promise<T>): Promise<T> {
    // Nothing is ignored, so that there is always an answer.
    return (await attempt(`Bucket "${this.bucket}" could not be emptied`, call)) as T
  }
}

/** @throws unknown what is no answer */
function nothing(error: unknown): readonly Listed[] {
  if (statusOf(error) === undefined) throw error
  return []
}

/** One more that was refused. @throws unknown what says nothing of this one object */
function refusal(error: unknown): number {
  const code = codeOf(error)
  if (code === 'NoSuchKey' || code === 'NoSuchVersion') return 0
  if (code === 'AccessDenied' || code === 'InvalidRequest') return 1
  throw error
}

/** Goes on with a search, one stand-in after the other. */
async function advance(search: Search, pass: Pass): Promise<'Found' | 'Lost' | 'Paused'> {
  for (;;) {
    const next = search.shown.indexOf(STAND_IN, search.at)
    const plain = search.shown.slice(search.at, next === -1 ? undefined : next)
    const known = Buffer.concat([search.found, Buffer.from(plain)])
    if (next === -1) {
      Object.assign(search, { found: known, at: search.shown.length })
      return 'Found'
    }
    const step = await standsFor(known, search.shown.slice(0, next + 1), pass)
    if (typeof step === 'string') return step
    Object.assign(search, { ...step, at: next + 1 })
  }
}

/** What a stand-in stands for: the first of the candidates with which a key begins that is shown so. */
async function standsFor(known: Buffer, head: string, pass: Pass): Promise<Omit<Search, 'at'> | 'Lost' | 'Paused'> {
  for (const candidate of pass.candidates) {
    if (pass.isOver()) return 'Paused'
    const found = Buffer.concat([known, candidate])
    const entry = (await pass.list(found)).find(({ shown }) => shown.startsWith(head))
    if (entry === undefined) continue
    // Keys of one bucket mostly hold the same of them.
    if (candidate[0] !== LONE_EF) pass.candidates = [candidate, ...pass.candidates.filter((one) => one !== candidate)]
    return { shown: entry.shown, found }
  }
  return 'Lost'
}
