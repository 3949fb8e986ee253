import { expect } from 'chai'
import { KEY_HEADER, keyDigest } from '../contracts/functions.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import { CallAuthorizer } from './callAuthorizer.ts'
import type { ServedFunction, ServedNamespace } from './switchboard.ts'

const trigger = { name: 'web', kind: 'Http', authLevel: 'Secret' } as FunctionTrigger
const lineWith = (secret: string) =>
  ({
    incarnation: 'life',
    object: { status: { keys: [{ trigger: 'web', digest: keyDigest(secret, 'life', 'web', 'key') }] } },
  }) as unknown as ServedFunction

describe('CallAuthorizer', () => {
  const opened = async (gate: CallAuthorizer, secret: string, key: string) =>
    gate.mayCall({} as ServedNamespace, lineWith(secret), trigger, { [KEY_HEADER]: key })

  it('accepts a key after the digest key was replaced', async () => {
    let secret = 'one'
    const gate = new CallAuthorizer({ digestKey: async () => secret, mayRead: async () => false })
    expect(await opened(gate, 'one', 'key')).to.equal(true)
    secret = 'two'
    expect(await opened(gate, 'two', 'key')).to.equal(true)
  })

  it('rejects a wrong key, and reads the digest key at most twice for ten calls', async () => {
    let reads = 0
    const digestKey = async () => {
      reads += 1
      return 'one'
    }
    const gate = new CallAuthorizer({ digestKey, mayRead: async () => false })
    for (let call = 0; call < 10; call += 1) expect(await opened(gate, 'one', 'wrong')).to.equal(false)
    expect(reads).to.be.at.most(2)
  })

  it('reads the digest key again after it was missing or could not be read', async () => {
    const answers = [async () => undefined, () => Promise.reject(new Error('It is away.')), async () => 'one']
    const gate = new CallAuthorizer({ digestKey: () => answers.shift()?.(), mayRead: async () => false } as never)
    const asked = [await opened(gate, 'one', 'key'), await opened(gate, 'one', 'key'), await opened(gate, 'one', 'key')]
    expect(asked).to.deep.equal([false, false, true])
  })

  const keys: [string, object, Record<string, string | string[]>][] = [
    ['no key', {}, {}],
    ['several keys', {}, { [KEY_HEADER]: ['key'] }],
    ['the key of another trigger', { name: 'other' }, { [KEY_HEADER]: 'key' }],
    ['the key of a trigger that needs a token', { authLevel: 'Platform' }, { [KEY_HEADER]: 'key' }],
  ]
  for (const [what, change, headers] of keys)
    it(`rejects ${what}`, async () => {
      const gate = new CallAuthorizer({ digestKey: async () => 'one', mayRead: async () => true })
      const wanted = { ...trigger, ...change }
      expect(await gate.mayCall({ object: {} } as ServedNamespace, lineWith('one'), wanted, headers)).to.equal(false)
    })

  const tokens: [string, boolean, string[]][] = [
    ['Bearer abc', true, ['abc /here/functions/orders']],
    ['bearer abc', true, ['abc /here/functions/orders']],
    ['Bearer stranger', false, ['stranger /here/functions/orders']],
    ['Bearer abc def', false, []],
    ['Basic Bearer abc', false, []],
    ['', false, []],
  ]
  for (const [authorization, expected, questions] of tokens)
    it(`${expected ? 'accepts' : 'rejects'} the authorization "${authorization}", and asks the facade at most once`, async () => {
      const asked: string[] = []
      const mayRead = async (token: string, path: string) => asked.push(`${token} ${path}`) > 0 && token === 'abc'
      const gate = new CallAuthorizer({ digestKey: async () => undefined, mayRead })
      const space = { object: { status: { scope: '/here' } } } as ServedNamespace
      const served = { object: { spec: { functionName: 'orders' } } } as ServedFunction
      const call = () => gate.mayCall(space, served, { ...trigger, authLevel: 'Platform' } as never, { authorization })
      expect([await call(), await call()]).to.deep.equal([expected, expected])
      expect(asked).to.deep.equal(questions)
    })

  it('asks the facade again after it did not answer', async () => {
    const answers = [() => Promise.reject(new Error('It is away.')), async () => true]
    const mayRead = () => answers.shift()?.() as Promise<boolean>
    const gate = new CallAuthorizer({ digestKey: async () => undefined, mayRead })
    const space = { object: { status: { scope: '/here' } } } as ServedNamespace
    const served = { object: { spec: { functionName: 'orders' } } } as ServedFunction
    const level = { ...trigger, authLevel: 'Platform' } as never
    const call = () => gate.mayCall(space, served, level, { authorization: 'Bearer abc' }).catch(() => 'away')
    expect([await call(), await call()]).to.deep.equal(['away', true])
  })
})
