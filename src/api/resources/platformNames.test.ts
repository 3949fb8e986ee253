import { expect } from 'chai'
import { assign, B1, SHOP } from '../../../test/make/authorizationRecords.ts'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { SecretVault } from '../../crds/vaults.ts'
import { withClaimedNames } from './platformNames.ts'

const ref = { namespace: groupNamespace(B1.slice('/boundaries/'.length), SHOP.split('/').at(-1) ?? ''), name: 'keys' }

/** Claims the name of a vault, then fails; `meanwhile` receives the incarnation of the claim. */
async function claimsAfter(meanwhile: (put: (incarnation: string) => void, incarnation: string) => void) {
  const { services, records } = makeFacade({ assignments: [assign('Owner', B1)] })
  const caller = { principalId: 'anna', principalType: 'User' as const, expiresAt: 0 }
  const put = (incarnation: string) =>
    void records.put(SecretVault, { ...ref, annotations: { [INCARNATION_ANNOTATION]: incarnation } }, {})
  const failing = withClaimedNames(
    SecretVault,
    ref,
    { context: { services, caller }, taken: 'VAULT_NAME_TAKEN' },
    async (claim) => {
      meanwhile(put, (await claim({})) ?? '')
      throw new PlatformError('ALREADY_EXISTS', 'made meanwhile')
    },
  )
  expect(((await failing.catch((error: unknown) => error)) as PlatformError).code).to.equal('ALREADY_EXISTS')
  return records.peekAll(NameClaim).map(({ spec }) => spec.value)
}

describe('withClaimedNames, when the creation fails', () => {
  it('releases the name', async () => {
    expect(await claimsAfter(() => {})).to.deep.equal([])
  })

  it('keeps the name if another request created the resource with the same claim', async () => {
    expect(await claimsAfter((put, incarnation) => put(incarnation))).to.deep.equal(['keys'])
  })

  it('releases the name if the existing resource has another incarnation', async () => {
    expect(await claimsAfter((put) => put('another life'))).to.deep.equal([])
  })
})
