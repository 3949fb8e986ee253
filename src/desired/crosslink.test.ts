import { expect } from 'chai'
import { ROTATION_TIMEOUT_MS } from '../contracts/crosslink.ts'
import {
  type CertificateAuthority,
  type CertificateKeyPair,
  nextRotationAction,
  skupperAuthority,
} from './crosslink.ts'

const NOW = Date.UTC(2027, 0, 1)
const pair = (name: string): CertificateKeyPair => ({ certPem: `${name}\n`, keyPem: `key of ${name}` })

/** Repeats the action until there is none, as the controller does. */
function play(stored: CertificateAuthority | undefined, wanted: number, { isKnown = false, now = NOW } = {}) {
  const shown: CertificateAuthority[] = []
  let authority = stored
  for (;;) {
    const move = nextRotationAction(authority, { wanted, isKnown: () => isKnown, now })
    if (move.kind === 'stay') return { authority, shown, after: move.after }
    authority = move.kind === 'store' ? move.authority : move.with(pair(`v${move.version}`))
    shown.push(authority)
  }
}

describe('nextRotationAction', () => {
  const first: CertificateAuthority = { ...pair('v1'), version: 1 }

  it('creates the first authority once', () => {
    expect(play(undefined, 1).authority).to.deep.equal(first)
    expect(play(first, 1).shown).to.deep.equal([])
  })

  it('rotates in three steps: trust both, sign with the new one, drop the old one', () => {
    const { shown } = play(first, 2, { isKnown: true })
    expect(shown.map((each) => [each.certPem, each.alsoTrusted, each.rotation?.step])).to.deep.equal([
      ['v1\n', 'v2\n', 'Trusting'],
      ['v2\n', 'v1\n', 'Reissued'],
      ['v2\n', undefined, undefined],
    ])
    expect(shown.map((each) => skupperAuthority(each)['ca.crt'])).to.deep.equal(['v1\nv2\n', 'v2\nv1\n', 'v2\n'])
  })

  it('waits until each site has confirmed the new authority, for a day at most', () => {
    const { authority, after } = play(first, 2)
    expect(authority?.rotation?.step).to.equal('Reissued')
    expect(after).to.equal(ROTATION_TIMEOUT_MS)
    expect(play(authority, 2, { now: NOW + ROTATION_TIMEOUT_MS - 1 }).after).to.equal(1)
    expect(play(authority, 2, { now: NOW + ROTATION_TIMEOUT_MS }).authority).to.deep.equal({
      ...pair('v2'),
      version: 2,
    })
    expect(play(authority, 2, { isKnown: true }).authority).to.deep.equal({ ...pair('v2'), version: 2 })
  })

  it('runs one rotation at a time', () => {
    expect(play(first, 3, { isKnown: true }).authority).to.include({ version: 3 })
    expect(play(play(first, 2).authority, 3).authority).to.include({ version: 2 })
  })
})
