import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { CompactEncrypt } from 'jose'
import {
  EnvelopeError,
  type KeyRing,
  newDataKey,
  openValue,
  type PlatformKey,
  sealValue,
  unwrapDataKey,
  wrapDataKey,
  wrappingKeyId,
} from './envelope.ts'

const made = (id: string): PlatformKey => ({ id, bytes: randomBytes(32) })
const ring = (...keys: PlatformKey[]): KeyRing => ({
  newest: () => keys.at(-1),
  find: (id) => keys.find((key) => key.id === id),
})

async function faultOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    if (error instanceof EnvelopeError) return [error.fault, error.keyId].filter(Boolean).join(' ')
    throw error
  }
  return 'none'
}

/** Changes one letter of one part. */
function altered(text: string, part: number): string {
  const parts = text.split('.')
  const piece = parts[part] ?? ''
  parts[part] = (piece.startsWith('A') ? 'B' : 'A') + piece.slice(1)
  return parts.join('.')
}

describe('sealValue, openValue, wrapDataKey and unwrapDataKey', () => {
  const [old, young] = [made('old'), made('young')]

  for (const value of ['', 'x', 'pässwörd ✓', 'a'.repeat(65_536)]) {
    it(`restore a value of ${value.length} characters`, async () => {
      const key = newDataKey()
      const sealed = await sealValue(value, key, 'here/1')
      expect(await openValue(sealed, key, 'here/1')).to.equal(value)
    })
  }

  it('hide the value and seal it differently each time', async () => {
    const key = newDataKey()
    const [one, other] = [await sealValue('hunter2', key, 'c'), await sealValue('hunter2', key, 'c')]
    expect(one).not.to.equal(other)
    expect(Buffer.from(one.split('.')[3] ?? '', 'base64url').toString()).not.to.contain('hunter2')
  })

  it('unwrap with any configured key, and wrap with the newest', async () => {
    const key = newDataKey()
    const before = await wrapDataKey(key, ring(old), 'c')
    const after = await wrapDataKey(key, ring(old, young), 'c')
    expect([wrappingKeyId(before), wrappingKeyId(after)]).to.deep.equal(['old', 'young'])
    for (const wrapped of [before, after])
      expect(Buffer.from(await unwrapDataKey(wrapped, ring(old, young), 'c')).equals(key)).to.equal(true)
  })

  const cases: Record<string, () => Promise<unknown>> = {
    'NoPlatformKey: without a configured key': () => wrapDataKey(newDataKey(), ring(), 'c'),
    'UnknownPlatformKey old: for a retired key': async () =>
      unwrapDataKey(await wrapDataKey(newDataKey(), ring(old), 'c'), ring(young), 'c'),
    'Broken: for another key with the same id': async () =>
      unwrapDataKey(await wrapDataKey(newDataKey(), ring(old), 'c'), ring(made('old')), 'c'),
    'Broken: for a data key of another secret': async () =>
      unwrapDataKey(await wrapDataKey(newDataKey(), ring(old), 'c/1'), ring(old), 'c/2'),
    'Broken: for a value of another version': async () => {
      const key = newDataKey()
      return openValue(await sealValue('x', key, 'c/1'), key, 'c/2')
    },
    'Broken: for a value under another data key': async () =>
      openValue(await sealValue('x', newDataKey(), 'c'), newDataKey(), 'c'),
    'Broken: for an altered value': async () => {
      const key = newDataKey()
      return openValue(altered(await sealValue('xyz', key, 'c'), 3), key, 'c')
    },
    'Broken: for an altered header': async () => {
      const key = newDataKey()
      return openValue(altered(await sealValue('xyz', key, 'c'), 0), key, 'c')
    },
    'Broken: for a value under another cipher': async () => {
      const key = newDataKey()
      const header = { alg: 'dir', enc: 'A128CBC-HS256', ctx: 'c' }
      return openValue(await new CompactEncrypt(Buffer.from('x')).setProtectedHeader(header).encrypt(key), key, 'c')
    },
    'Broken: for text that is not an envelope': () => unwrapDataKey('nonsense', ring(old), 'c'),
    'Broken: for a wrapped key instead of a value': async () => {
      const wrapped = await wrapDataKey(newDataKey(), ring(old), 'c')
      return openValue(wrapped, old.bytes, 'c')
    },
  }
  for (const [title, work] of Object.entries(cases)) {
    it(`report ${title}`, async () => expect(await faultOf(work())).to.equal(title.split(':')[0]))
  }
})
