import { expect } from 'chai'
import { type GrantFacts, type OrphanReason, orphanReason } from './orphans.ts'

describe('orphanReason', () => {
  const used: GrantFacts = {
    scope: { incarnation: 'one' },
    scopeIncarnation: 'one',
    hasPrincipal: true,
    hasRole: true,
    expiresAt: undefined,
  }
  const judged: [string, Partial<GrantFacts>, OrphanReason | undefined][] = [
    ['a grant in use', {}, undefined],
    ['a grant without a scope incarnation', { scopeIncarnation: undefined }, undefined],
    ['a grant whose scope was deleted', { scope: undefined }, 'ScopeMissing'],
    ['a grant whose scope was recreated', { scope: { incarnation: 'two' } }, 'ScopeMissing'],
    ['a grant whose principal was deleted', { hasPrincipal: false }, 'PrincipalMissing'],
    ['a grant whose role was deleted', { hasRole: false }, 'RoleMissing'],
    ['a grant that expires later', { expiresAt: 101 }, undefined],
    ['a grant that expires now', { expiresAt: 100 }, 'Expired'],
    ['a grant with several reasons', { scope: undefined, hasPrincipal: false, expiresAt: 1 }, 'ScopeMissing'],
  ]
  for (const [title, facts, reason] of judged) {
    it(`returns ${reason ?? 'undefined'} for ${title}`, () =>
      expect(orphanReason({ ...used, ...facts }, 100)).to.equal(reason))
  }
})
