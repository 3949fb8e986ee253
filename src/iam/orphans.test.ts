import { expect } from 'chai'
import { type GrantFacts, type OrphanReason, orphanReason } from './orphans.ts'

describe('grants that are left over', () => {
  const used: GrantFacts = {
    scope: { incarnation: 'one' },
    scopeIncarnation: 'one',
    hasPrincipal: true,
    hasRole: true,
    expiresAt: undefined,
  }
  const judged: [string, Partial<GrantFacts>, OrphanReason | undefined][] = [
    ['one in use', {}, undefined],
    ['one that names no life of its scope', { scopeIncarnation: undefined }, undefined],
    ['one whose scope is gone', { scope: undefined }, 'ScopeMissing'],
    ['one whose scope was made anew', { scope: { incarnation: 'two' } }, 'ScopeMissing'],
    ['one whose principal is gone', { hasPrincipal: false }, 'PrincipalMissing'],
    ['one whose role is gone', { hasRole: false }, 'RoleMissing'],
    ['one that ends later', { expiresAt: 101 }, undefined],
    ['one that ends now', { expiresAt: 100 }, 'Expired'],
    ['one with every fault, by the first', { scope: undefined, hasPrincipal: false, expiresAt: 1 }, 'ScopeMissing'],
  ]
  for (const [title, facts, reason] of judged) {
    it(`judges ${title}: ${reason ?? 'kept'}`, () => expect(orphanReason({ ...used, ...facts }, 100)).to.equal(reason))
  }
})
