import { expect } from 'chai'
import { isAddress } from '../core/address.ts'
import {
  acceptRefusalOf,
  decideSetPassword,
  type InvitationFacts,
  invitationStateAt,
  isSameAddress,
  nextResendAt,
  resendRefusalOf,
  revokeRefusalOf,
  unverifiedRefusalOf,
} from './invitations.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const HOUR = 3_600_000
const at = (milliseconds: number) => new Date(milliseconds).toISOString()
const make = (change: Partial<InvitationFacts> = {}): InvitationFacts & { email: string } => ({
  email: 'Anna@Example.com',
  state: 'Pending',
  hasAccount: false,
  resendCount: 0,
  lastSentAt: at(NOW - HOUR),
  expiresAt: at(NOW + HOUR),
  expiryAnswered: false,
  ...change,
})
const past = { expiresAt: at(NOW) }
const anna = { email: 'anna@example.com', emailVerified: true }

describe('invitations', () => {
  describe('DELETE', () => {
    const cases: [string, InvitationFacts, string | undefined][] = [
      ['accepts a pending invitation', make(), undefined],
      ['accepts an invitation in AwaitingLogin', make({ state: 'AwaitingLogin' }), undefined],
      ['returns already_accepted for an accepted invitation', make({ state: 'Accepted' }), 'already_accepted'],
      ['returns already_revoked for a revoked invitation', make({ state: 'Revoked' }), 'already_revoked'],
      ['accepts an invitation after its expiry', make(past), undefined],
      ['accepts an invitation in Expired', make({ state: 'Expired' }), undefined],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(revokeRefusalOf(facts)?.code).to.equal(code))
    }
  })

  describe('set-password', () => {
    const cases: [string, InvitationFacts, string][] = [
      ['accepts a pending invitation', make(), 'first'],
      ['accepts a repeated request in AwaitingLogin', make({ state: 'AwaitingLogin' }), 'repeat'],
      ['returns invalid_state for an existing account', make({ hasAccount: true }), 'invalid_state'],
      ['returns expired to the first request after the expiry', make(past), 'expired'],
      ['returns expired to the first request in Expired', make({ ...past, state: 'Expired' }), 'expired'],
      [
        'returns invalid_state to later requests in Expired',
        make({ ...past, state: 'Expired', expiryAnswered: true }),
        'invalid_state',
      ],
      ['returns invalid_state for an accepted invitation', make({ state: 'Accepted' }), 'invalid_state'],
      [
        'returns invalid_state for an accepted invitation after its expiry',
        make({ ...past, state: 'Accepted' }),
        'invalid_state',
      ],
      ['returns invalid_state for a revoked invitation', make({ state: 'Revoked' }), 'invalid_state'],
      ['returns expired in AwaitingLogin after the expiry', make({ ...past, state: 'AwaitingLogin' }), 'expired'],
    ]
    for (const [title, facts, wanted] of cases) {
      it(title, () => {
        const decision = decideSetPassword(facts, NOW)
        const found = decision.refusal?.code ?? ('isRepeat' in decision && decision.isRepeat ? 'repeat' : 'first')
        expect(found).to.equal(wanted)
      })
    }
  })

  describe('accept', () => {
    const cases: [string, InvitationFacts & { email: string }, string | undefined][] = [
      ['accepts a pending invitation of an existing account', make({ hasAccount: true }), undefined],
      ['returns invalid_state for a new account without a password', make(), 'invalid_state'],
      ['accepts an invitation in AwaitingLogin', make({ state: 'AwaitingLogin' }), undefined],
      [
        'returns invalid_state for an accepted invitation',
        make({ hasAccount: true, state: 'Accepted' }),
        'invalid_state',
      ],
      ['returns invalid_state for a revoked invitation', make({ hasAccount: true, state: 'Revoked' }), 'invalid_state'],
      ['returns expired to the first request after the expiry', make({ ...past, hasAccount: true }), 'expired'],
      [
        'returns invalid_state to later requests after the expiry',
        make({ ...past, hasAccount: true, state: 'Expired', expiryAnswered: true }),
        'invalid_state',
      ],
      ['accepts in the last millisecond', make({ hasAccount: true, expiresAt: at(NOW + 1) }), undefined],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(acceptRefusalOf(facts, anna, NOW)?.code).to.equal(code))
    }

    it('returns email_mismatch to another address in every state', () => {
      const other = { email: 'bert@example.com', emailVerified: true }
      for (const state of ['Pending', 'AwaitingLogin', 'Accepted', 'Revoked', 'Expired'] as const)
        expect(acceptRefusalOf(make({ state }), other, NOW)?.code).to.equal('email_mismatch')
    })

    it('returns email_mismatch to an account without an address', () => {
      const nobody = { email: undefined, emailVerified: false }
      expect(unverifiedRefusalOf(nobody)).to.equal(undefined)
      expect(acceptRefusalOf(make(), nobody, NOW)?.code).to.equal('email_mismatch')
    })

    it('returns email_not_verified for an unverified address', () => {
      expect(unverifiedRefusalOf({ email: 'bert@example.com', emailVerified: false })?.code).to.equal(
        'email_not_verified',
      )
      expect(unverifiedRefusalOf(anna)).to.equal(undefined)
    })
  })

  describe('resend', () => {
    const cases: [string, InvitationFacts, string | undefined][] = [
      ['accepts the first resend at once', make({ lastSentAt: at(NOW) }), undefined],
      ['accepts the third resend at once', make({ resendCount: 2, lastSentAt: at(NOW) }), undefined],
      [
        'returns resend_limit for the fourth resend within 24 hours',
        make({ resendCount: 3, lastSentAt: at(NOW - 24 * HOUR + 1) }),
        'resend_limit',
      ],
      [
        'accepts the fourth resend after 24 hours',
        make({ resendCount: 3, lastSentAt: at(NOW - 24 * HOUR) }),
        undefined,
      ],
      [
        'returns resend_limit for the ninth resend within 24 hours',
        make({ resendCount: 8, lastSentAt: at(NOW - HOUR) }),
        'resend_limit',
      ],
      ['accepts a resend in AwaitingLogin', make({ state: 'AwaitingLogin' }), undefined],
      ['returns invalid_state for an accepted invitation', make({ state: 'Accepted' }), 'invalid_state'],
      ['returns invalid_state for a revoked invitation', make({ state: 'Revoked' }), 'invalid_state'],
      ['returns invalid_state for an expired invitation', make({ state: 'Expired' }), 'invalid_state'],
      [
        'returns invalid_state after the expiry, even at the limit of resends',
        make({ ...past, resendCount: 3 }),
        'invalid_state',
      ],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(resendRefusalOf(facts, NOW)?.code).to.equal(code))
    }

    it('returns the time of the next resend only if the caller has to wait', () => {
      expect(nextResendAt(make(), NOW)).to.equal(undefined)
      expect(nextResendAt(make({ resendCount: 3 }), NOW)).to.equal(NOW + 23 * HOUR)
      expect(nextResendAt(make({ resendCount: 3, state: 'Revoked' }), NOW)).to.equal(undefined)
    })

    it('uses the configured limits', () => {
      const facts = make({ resendCount: 1 })
      expect(resendRefusalOf(facts, NOW, { immediate: 1, interval: 2 * HOUR })?.code).to.equal('resend_limit')
      expect(resendRefusalOf(facts, NOW, { immediate: 1, interval: HOUR })).to.equal(undefined)
    })
  })

  it('have the state Expired after their expiry unless they were accepted', () => {
    expect(invitationStateAt(make(past), NOW)).to.equal('Expired')
    expect(invitationStateAt(make({ ...past, state: 'AwaitingLogin' }), NOW)).to.equal('Expired')
    expect(invitationStateAt(make({ ...past, state: 'Accepted' }), NOW)).to.equal('Accepted')
    expect(invitationStateAt(make(), NOW)).to.equal('Pending')
  })
})

describe('isAddress and isSameAddress', () => {
  for (const text of ['a@example.com', "o'hara+x@mail.example.co.uk", 'ä@example.com', 'A.B@EXAMPLE.COM'])
    it(`accept ${text}`, () => expect(isAddress(text)).to.equal(true))
  const refused = [
    '',
    'a',
    '@example.com',
    'a@',
    'a@b',
    'a@b@example.com',
    'a b@example.com',
    'a@example.com, b@example.com',
    'a@exa mple.com',
    'a@example.com\r\nBcc: b@example.com',
    '<a@example.com>',
    'Anna <a@example.com>',
    'a@-example.com',
    'a@example..com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(250)}.com`,
  ]
  for (const text of refused)
    it(`reject ${JSON.stringify(text.slice(0, 40))}`, () => expect(isAddress(text)).to.equal(false))

  it('compare addresses without case and surrounding spaces', () => {
    expect(isSameAddress('Anna@Example.COM', ' anna@example.com')).to.equal(true)
    expect(isSameAddress('anna@example.com', 'anna@example.org')).to.equal(false)
  })
})
