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

describe('the life of an invitation', () => {
  describe('DELETE', () => {
    const cases: [string, InvitationFacts, string | undefined][] = [
      ['a pending one is revoked', make(), undefined],
      ['one that awaits the login is revoked', make({ state: 'AwaitingLogin' }), undefined],
      ['an accepted one stays', make({ state: 'Accepted' }), 'already_accepted'],
      ['a revoked one stays', make({ state: 'Revoked' }), 'already_revoked'],
      ['one past its time is revoked', make(past), undefined],
      ['an expired one is revoked', make({ state: 'Expired' }), undefined],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(revokeRefusalOf(facts)?.code).to.equal(code))
    }
  })

  describe('set-password', () => {
    const cases: [string, InvitationFacts, string][] = [
      ['a pending one takes it', make(), 'first'],
      ['one that awaits the login answers the same again', make({ state: 'AwaitingLogin' }), 'repeat'],
      ['one for an existing account does not take it', make({ hasAccount: true }), 'invalid_state'],
      ['the first call past the time is told of the expiry', make(past), 'expired'],
      ['so it is when the clean-up was first', make({ ...past, state: 'Expired' }), 'expired'],
      ['later calls are told of the state', make({ ...past, state: 'Expired', expiryAnswered: true }), 'invalid_state'],
      ['an accepted one does not take it', make({ state: 'Accepted' }), 'invalid_state'],
      ['an accepted one stays so past its time', make({ ...past, state: 'Accepted' }), 'invalid_state'],
      ['a revoked one does not take it', make({ state: 'Revoked' }), 'invalid_state'],
      ['one that awaits the login expires too', make({ ...past, state: 'AwaitingLogin' }), 'expired'],
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
      ['one for an existing account is taken while pending', make({ hasAccount: true }), undefined],
      ['one for a new account needs its password first', make(), 'invalid_state'],
      ['one that awaits the login is taken', make({ state: 'AwaitingLogin' }), undefined],
      ['an accepted one is not taken again', make({ hasAccount: true, state: 'Accepted' }), 'invalid_state'],
      ['a revoked one is not taken', make({ hasAccount: true, state: 'Revoked' }), 'invalid_state'],
      ['the first call past the time is told of the expiry', make({ ...past, hasAccount: true }), 'expired'],
      [
        'later calls are told of the state',
        make({ ...past, hasAccount: true, state: 'Expired', expiryAnswered: true }),
        'invalid_state',
      ],
      ['the last millisecond counts', make({ hasAccount: true, expiresAt: at(NOW + 1) }), undefined],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(acceptRefusalOf(facts, anna, NOW)?.code).to.equal(code))
    }

    it('another address learns nothing of the state', () => {
      const other = { email: 'bert@example.com', emailVerified: true }
      for (const state of ['Pending', 'AwaitingLogin', 'Accepted', 'Revoked', 'Expired'] as const)
        expect(acceptRefusalOf(make({ state }), other, NOW)?.code).to.equal('email_mismatch')
    })

    it('an account without an address does not match', () => {
      const nobody = { email: undefined, emailVerified: false }
      expect(unverifiedRefusalOf(nobody)).to.equal(undefined)
      expect(acceptRefusalOf(make(), nobody, NOW)?.code).to.equal('email_mismatch')
    })

    it('an address that is not verified is refused before anything else', () => {
      expect(unverifiedRefusalOf({ email: 'bert@example.com', emailVerified: false })?.code).to.equal(
        'email_not_verified',
      )
      expect(unverifiedRefusalOf(anna)).to.equal(undefined)
    })
  })

  describe('resend', () => {
    const cases: [string, InvitationFacts, string | undefined][] = [
      ['the first is allowed at once', make({ lastSentAt: at(NOW) }), undefined],
      ['the third too', make({ resendCount: 2, lastSentAt: at(NOW) }), undefined],
      ['the fourth is not', make({ resendCount: 3, lastSentAt: at(NOW - 24 * HOUR + 1) }), 'resend_limit'],
      ['the fourth is, 24 hours after the last', make({ resendCount: 3, lastSentAt: at(NOW - 24 * HOUR) }), undefined],
      ['the ninth waits again', make({ resendCount: 8, lastSentAt: at(NOW - HOUR) }), 'resend_limit'],
      ['one that awaits the login is sent', make({ state: 'AwaitingLogin' }), undefined],
      ['an accepted one is not', make({ state: 'Accepted' }), 'invalid_state'],
      ['a revoked one is not', make({ state: 'Revoked' }), 'invalid_state'],
      ['an expired one is not', make({ state: 'Expired' }), 'invalid_state'],
      ['one past its time is not, and the limit is not the reason', make({ ...past, resendCount: 3 }), 'invalid_state'],
    ]
    for (const [title, facts, code] of cases) {
      it(title, () => expect(resendRefusalOf(facts, NOW)?.code).to.equal(code))
    }

    it('says when the next is allowed, only if one has to wait', () => {
      expect(nextResendAt(make(), NOW)).to.equal(undefined)
      expect(nextResendAt(make({ resendCount: 3 }), NOW)).to.equal(NOW + 23 * HOUR)
      expect(nextResendAt(make({ resendCount: 3, state: 'Revoked' }), NOW)).to.equal(undefined)
    })

    it('follows the limits of the configuration', () => {
      const facts = make({ resendCount: 1 })
      expect(resendRefusalOf(facts, NOW, { free: 1, interval: 2 * HOUR })?.code).to.equal('resend_limit')
      expect(resendRefusalOf(facts, NOW, { free: 1, interval: HOUR })).to.equal(undefined)
    })
  })

  it('shows what is past its time as Expired, whoever wrote what', () => {
    expect(invitationStateAt(make(past), NOW)).to.equal('Expired')
    expect(invitationStateAt(make({ ...past, state: 'AwaitingLogin' }), NOW)).to.equal('Expired')
    expect(invitationStateAt(make({ ...past, state: 'Accepted' }), NOW)).to.equal('Accepted')
    expect(invitationStateAt(make(), NOW)).to.equal('Pending')
  })
})

describe('e-mail addresses', () => {
  for (const text of ['a@example.com', "o'hara+x@mail.example.co.uk", 'ä@example.com', 'A.B@EXAMPLE.COM'])
    it(`take ${text}`, () => expect(isAddress(text)).to.equal(true))
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
    it(`refuse ${JSON.stringify(text.slice(0, 40))}`, () => expect(isAddress(text)).to.equal(false))

  it('are the same in whatever case', () => {
    expect(isSameAddress('Anna@Example.COM', ' anna@example.com')).to.equal(true)
    expect(isSameAddress('anna@example.com', 'anna@example.org')).to.equal(false)
  })
})
