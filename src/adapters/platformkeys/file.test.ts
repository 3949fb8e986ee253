import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { silentLog } from '../../core/log.ts'
import { openKeyFile, PlatformKeysError, parsePlatformKeys } from './file.ts'

const key = (kid: string, bytes = 32) => ({ kty: 'oct', kid, k: randomBytes(bytes).toString('base64url') })
const text = (...keys: object[]) => JSON.stringify({ keys })

describe('parsePlatformKeys and openKeyFile', () => {
  const good = key('a')
  const refused: Record<string, string> = {
    'text that is not JSON': 'nonsense',
    'no keys': text(),
    'a key without an id': text({ kty: 'oct', k: good.k }),
    'two keys with the same id': text(key('a'), key('a')),
    'a key of 128 bits': text(key('a', 16)),
    'a key of another type': text({ ...good, kty: 'RSA' }),
  }
  for (const [title, content] of Object.entries(refused)) {
    it(`reject ${title} without quoting the file`, () => {
      expect(() => parsePlatformKeys(content, '/keys')).to.throw(PlatformKeysError, '/keys')
      try {
        parsePlatformKeys(content, '/keys')
      } catch (error) {
        expect(String(error)).not.to.contain(good.k)
      }
    })
  }

  it('reload a changed file, and keep the current keys if it is invalid', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-keys-'))
    const path = join(folder, 'keys.json')
    const clock = new ManualClock()
    try {
      await writeFile(path, text(good))
      const keys = await openKeyFile(path, { clock, log: silentLog })
      let changes = 0
      keys.onChange(() => {
        changes += 1
      })
      expect(keys.newest()?.id).to.equal('a')
      await writeFile(path, text(good, key('b')))
      await keys.refresh()
      expect([keys.newest()?.id, keys.find('a')?.id, changes]).to.deep.equal(['b', 'a', 1])
      await writeFile(path, 'half a fi')
      await keys.refresh()
      expect([keys.newest()?.id, changes]).to.deep.equal(['b', 1])
      keys.stop()
      expect(keys.find('c')).to.equal(undefined)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('reject a missing file at the start', async () => {
    const opened = openKeyFile('/nowhere/keys.json', { clock: new ManualClock(), log: silentLog })
    expect(await opened.catch((error: unknown) => error)).to.be.instanceOf(PlatformKeysError)
  })
})
