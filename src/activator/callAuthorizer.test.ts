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
})
