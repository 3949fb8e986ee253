import { expect } from 'chai'
import { assign, B1, deny, SHOP } from '../../../test/make/authorizationRecords.ts'
import { ONE, shop, TWO } from '../../../test/worlds/groups.ts'
import { type ClaimType, claimName } from '../../core/nameClaims.ts'
import { groupNamespace } from '../../core/names.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { checkNewName } from '../resources/writes.ts'
import { resourceGroupRoutes as routes } from './index.ts'

describe('GET /resources/{name}/validate', () => {
  const validated: [string, string, object][] = [
    ['free', 'a free name', { isValid: true, isAvailable: true, violations: [], takenBy: [] }],
    ['bread', 'a name of a resource in another group', { isValid: true, isAvailable: true }],
    ['config', 'a reserved name', { isValid: false, isAvailable: false }],
  ]
  for (const [name, title, wanted] of validated) {
    it(`validates ${title}`, async () => {
      const { status, body } = await shop().call(routes, 'GET', `${SHOP}/resources/${name}/validate`)
      expect(status).to.equal(200)
      expect(body).to.deep.include({ resourceName: name, ...wanted })
    })
  }

  it('names the holder to callers who may read it, and tells others only that the name is taken', async () => {
    const path = `${SHOP}/resources/index/validate`
    const { body } = await shop().call(routes, 'GET', path)
    expect(body).to.deep.include({ isValid: true, isAvailable: false })
    expect((body as { takenBy: object[] }).takenBy[0]).to.deep.include({ collection: 'vectorclusters', name: 'index' })
    const blind = shop({ assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['vectorcluster/read'])] })
    const { body: seen } = await blind.call(routes, 'GET', path)
    expect(seen).to.deep.include({ isAvailable: false, takenBy: [] })
  })

  const claims: [title: string, query: Record<string, string[]>, type: string, group: string, codes: string[]][] = [
    ['a vault of another boundary', {}, 'Vault', groupNamespace(TWO, 'shop'), ['TakenElsewhere']],
    ['a storage account of another group', {}, 'StorageAccount', groupNamespace(ONE, 'bakery'), ['TakenElsewhere']],
    ['a host', {}, 'Host', groupNamespace(TWO, 'shop'), []],
    ['a vault of the same group without a record yet', {}, 'Vault', groupNamespace(ONE, 'shop'), []],
    [
      'a vault elsewhere (collection secretvaults)',
      { collection: ['secretvaults'] },
      'Vault',
      groupNamespace(TWO, 'shop'),
      ['TakenElsewhere'],
    ],
    [
      'a vault elsewhere (collection objectstorageaccounts)',
      { collection: ['objectstorageaccounts'] },
      'Vault',
      groupNamespace(TWO, 'shop'),
      [],
    ],
  ]
  for (const [title, query, type, namespace, codes] of claims) {
    it(`reports the name of ${title} as ${codes.length === 0 ? 'free' : 'taken'}, without its holder`, async () => {
      const facade = shop()
      const holder = { kind: 'Anything', namespace, name: 'payments', incarnation: 'one' }
      const name = claimName(type as ClaimType, 'payments')
      facade.records.put(NameClaim, { name }, { type, value: 'payments', holder })
      const { body } = await facade.call(routes, 'GET', `${SHOP}/resources/payments/validate`, { query })
      const { violations, ...rest } = body as { violations: { code: string }[]; isAvailable: boolean }
      expect(violations.map(({ code }) => code)).to.deep.equal(codes)
      expect(rest).to.deep.include({ isValid: true, isAvailable: codes.length === 0, takenBy: [] })
      expect(JSON.stringify(violations)).not.to.contain(namespace)
    })
  }

  it('checks a name within the requested collection', async () => {
    const ask = async (collection: string) =>
      (await shop().call(routes, 'GET', `${SHOP}/resources/index/validate`, { query: { collection: [collection] } }))
        .body
    expect(await ask('vectorclusters')).to.deep.include({ isAvailable: false })
    expect(await ask('sqlclusters')).to.deep.include({ isAvailable: true, takenBy: [] })
  })

  const LENGTHS = [1, 2, 3, 4, 52, 53]
  const isTaken = (kind: AnyKind, name: string) => {
    try {
      checkNewName(name, new Set(), kind.nameMin)
      return true
    } catch {
      return false
    }
  }
  for (const kind of RESOURCE_KINDS)
    it(`accepts and rejects names by length as POST does: ${kind.segment}`, async () => {
      for (const length of LENGTHS) {
        const name = 'a'.repeat(length)
        const query = { collection: [kind.segment] }
        const { body } = await shop().call(routes, 'GET', `${SHOP}/resources/${name}/validate`, { query })
        expect(body, name).to.include({ isValid: isTaken(kind, name) })
      }
    })
})
