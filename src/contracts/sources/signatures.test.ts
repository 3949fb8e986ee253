import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { SeededRandom } from '../../../test/make/random.ts'
import type { Provider } from './providers.ts'
import { isDeliveryAuthentic, parseDeliveryClaim, sendsWebhooks } from './signatures.ts'

const SECRET = 'a secret of thirty-two characters'
const hmac = (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')
const gitHubPush = { ref: 'refs/heads/main', after: 'a'.repeat(40), repository: { id: 7, full_name: 'acme/site' } }
const SIGNED: [Provider, string, string][] = [
  ['GitHub', 'x-hub-signature-256', 'sha256='],
  ['Gitea', 'x-gitea-signature', ''],
  ['Bitbucket', 'x-hub-signature', 'sha256='],
  ['Git', 'x-hub-signature-256', 'sha256='],
]
const EVENT_HEADERS: Record<string, string> = {
  GitHub: 'x-github-event',
  Gitea: 'x-gitea-event',
  Bitbucket: 'x-event-key',
  Git: 'x-freehold-event',
}

describe('isDeliveryAuthentic and parseDeliveryClaim', () => {
  const body = Buffer.from(JSON.stringify(gitHubPush))
  for (const [provider, header, prefix] of SIGNED) {
    const claim = (signature: string) =>
      parseDeliveryClaim(provider, (name) => ({ [header]: signature, [EVENT_HEADERS[provider] ?? '']: 'push' })[name])

    it(`${provider}: accept a signature only with the same body and secret`, () => {
      const made = claim(`${prefix}${hmac(body.toString())}`)
      if (made === undefined) throw new Error('no claim')
      expect(isDeliveryAuthentic(provider, made, SECRET, body)).to.equal(true)
      expect(isDeliveryAuthentic(provider, made, `${SECRET}x`, body)).to.equal(false)
      expect(isDeliveryAuthentic(provider, made, '', body)).to.equal(false)
      const random = new SeededRandom(7)
      for (let round = 0; round < 200; round += 1) {
        const forged = Buffer.from(body)
        const at = random.below(forged.length)
        const byte = (forged[at] ?? 0) ^ (1 + random.below(255))
        forged[at] = byte
        const cut = round % 2 === 0 ? forged : body.subarray(0, random.below(body.length))
        expect(isDeliveryAuthentic(provider, made, SECRET, cut), `round ${round}`).to.equal(false)
      }
    })

    it(`${provider}: reject a malformed signature`, () => {
      for (const wrong of [
        '',
        'sha1=abc',
        hmac('x').toUpperCase(),
        `${prefix}${hmac('x')}0`,
        `${prefix}xyz`,
        `x${prefix}${hmac('x')}`,
        'sha256=',
      ])
        expect(claim(wrong), wrong).to.equal(undefined)
    })
  }

  it('GitLab: compare the token with the secret', () => {
    const headers: Record<string, string> = { 'x-gitlab-token': 'x'.repeat(32), 'x-gitlab-event': 'Push Hook' }
    const made = parseDeliveryClaim('GitLab', (name) => headers[name])
    if (made === undefined) throw new Error('no claim')
    expect(isDeliveryAuthentic('GitLab', made, 'x'.repeat(32), body)).to.equal(true)
    expect(isDeliveryAuthentic('GitLab', made, 'x'.repeat(31), body)).to.equal(false)
  })

  it('GitLab: need a token of 16 to 256 visible characters', () => {
    const proofOf = (token: string) =>
      parseDeliveryClaim('GitLab', (name) => ({ 'x-gitlab-token': token, 'x-gitlab-event': 'a' })[name])?.proof
    for (const token of ['x'.repeat(16), 'x'.repeat(256)]) expect(proofOf(token)).to.equal(token)
    for (const token of ['', 'x'.repeat(15), 'x'.repeat(257), ` ${'x'.repeat(16)}`, `${'x'.repeat(16)} `])
      expect(proofOf(token), token).to.equal(undefined)
  })

  it('need a secret of 16 characters', () => {
    const isTaken = (secret: string) => {
      const proof = createHmac('sha256', secret).update(body).digest('hex')
      return isDeliveryAuthentic('Git', { proof, event: 'push', deliveryId: undefined }, secret, body)
    }
    expect(['', 'x'.repeat(15), 'x'.repeat(16)].map(isTaken)).to.deep.equal([false, false, true])
  })

  const ids: [Provider, header: string][] = [
    ['GitHub', 'x-github-delivery'],
    ['GitLab', 'idempotency-key'],
    ['GitLab', 'x-gitlab-event-uuid'],
    ['Gitea', 'x-gitea-delivery'],
    ['Circuit', 'x-gitea-delivery'],
    ['Bitbucket', 'x-request-uuid'],
    ['Git', 'x-freehold-delivery'],
  ]
  /** The claim of a valid delivery, with these headers instead. */
  const claimed = (provider: Provider, headers: Record<string, string>) =>
    parseDeliveryClaim(provider, (name) => {
      if (/signature/.test(name)) return `${name === 'x-gitea-signature' ? '' : 'sha256='}${hmac('')}`
      return headers[name] ?? (/token/.test(name) ? 'x'.repeat(16) : /event(-key)?$/.test(name) ? 'push' : undefined)
    })
  for (const [provider, header] of ids) {
    it(`${provider}: read the id of a delivery from ${header}, if it is short and visible`, () => {
      expect(claimed(provider, { [header]: 'one' })).to.include({ event: 'push', deliveryId: 'one' })
      expect(claimed(provider, {})).to.include({ event: 'push', deliveryId: undefined })
      for (const odd of ['', ' one', 'ö', 'one\n', 'x'.repeat(129)])
        expect(claimed(provider, { [header]: odd }), odd).to.include({ event: 'push', deliveryId: undefined })
    })
  }

  it('need the name of an event', () => {
    for (const odd of ['', ' push', 'push\n', 'x'.repeat(129)])
      expect(claimed('GitHub', { 'x-github-event': odd }), odd).to.equal(undefined)
    expect(
      parseDeliveryClaim('GitHub', (name) => (/signature/.test(name) ? `sha256=${hmac('')}` : undefined)),
    ).to.equal(undefined)
  })

  it('Registry: accept no delivery', () => {
    expect(sendsWebhooks('Registry')).to.equal(false)
    expect(parseDeliveryClaim('Registry', () => 'x'.repeat(64))).to.equal(undefined)
  })
})
