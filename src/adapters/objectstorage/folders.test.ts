import { isUtf8 } from 'node:buffer'
import { expect } from 'chai'
import { HiddenKeys } from './hiddenKeys.ts'

const SLASH = 0x2f

/** Folders without an object, as a store on a disk keeps them; what XML cannot carry is shown by a stand-in. */
class FolderStore {
  keys: Buffer[]
  asked = 0
  deletes = true

  constructor(keys: readonly (string | Buffer)[]) {
    const all = keys.map((key) => Buffer.from(key as Buffer)).flatMap((key) => this.#parts(key))
    this.keys = all.filter((key, at) => all.findIndex((one) => one.equals(key)) === at).sort(Buffer.compare)
  }

  #parts(key: Buffer): Buffer[] {
    return [...key].flatMap((byte, at) => (byte === SLASH ? [key.subarray(0, at + 1)] : []))
  }

  readonly hidden = new HiddenKeys({
    list: async () => [],
    folders: async (_bucket, prefix) => {
      this.asked += 1
      const isBelow = (key: Buffer) => key.subarray(0, prefix.length).equals(prefix) && key.length > prefix.length
      const isNext = (key: Buffer) => key.indexOf(SLASH, prefix.length) === key.length - 1
      const found = this.keys.filter((key) => isBelow(key) && isNext(key)).slice(0, 1_000)
      return found.map((key) => ({ shown: shown(key), exact: undefined, versionId: undefined }))
    },
    remove: async (_bucket, key) => {
      const isFull = this.keys.some((one) => one.length > key.length && one.subarray(0, key.length).equals(key))
      if (isFull) throw Object.assign(new Error('full'), { $metadata: { httpStatusCode: 409 } })
      if (this.deletes) this.keys = this.keys.filter((one) => !one.equals(key))
    },
  })
}

function shown(key: Buffer): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot carry
  if (isUtf8(key)) return key.toString().replace(/[\x01-\x08]/g, '\ufffd')
  return [...key].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : '\ufffd')).join('')
}

describe('folders that a store kept of writes that it refused', () => {
  async function swept(store: FolderStore) {
    for (let passes = 1; ; passes += 1) {
      store.asked = 0
      const state = await store.hidden.removeFolders('one', {})
      expect(store.asked, 'a pass ends').to.be.lessThan(2_000)
      if (state === 'Stuck' || store.keys.length === 0) return { state, passes }
      expect(passes, 'each comes further').to.be.lessThan(100)
    }
  }

  it('go, those in others first', async () => {
    const store = new FolderStore(['a/b/c/', 'a/d/', 'e é/', '%20+/'])
    expect(await swept(store)).to.deep.equal({ state: 'Removed', passes: 1 })
  })

  it('go with names that a list cannot say', async () => {
    const bytes = [Buffer.from('fffe2f', 'hex'), Buffer.from('612f80612f', 'hex')]
    expect((await swept(new FolderStore(['\u0001/a/', 'b/\u0002\u0001/', ...bytes]))).state).to.equal('Removed')
  })

  it('go in passes that end, however many they are', async () => {
    const store = new FolderStore(Array.from({ length: 400 }, (_, index) => `a${index}/b/`))
    expect((await swept(store)).passes).to.be.greaterThan(1)
  })

  it('are told to stay where the store keeps them', async () => {
    const store = new FolderStore(['a/b/'])
    store.deletes = false
    expect((await swept(store)).state).to.equal('Stuck')
  })
})
