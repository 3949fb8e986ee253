import { managedIdentitySecretName } from '../../../src/contracts/managedIdentities.ts'
import { verificationRecord } from '../../../src/contracts/sso.ts'
import { managedIdentityController } from '../../../src/controllers/managedidentities.ts'
import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { PlatformClient, PlatformUser } from '../../../src/crds/identity.ts'
import { ManagedIdentity } from '../../../src/crds/managedidentities.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { PrincipalGroup, RoleAssignment } from '../../../src/crds/rbac.ts'
import { IdpBinding, SsoConnection } from '../../../src/crds/sso.ts'
import { StandInApp } from '../../make/workload.ts'
import type { Flow, Step } from '../flow.ts'
import { BOUNDARY_ID, GROUP, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const PERSON = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'
const OTHER = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a12'
const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const FRIENDS = '33333333-3333-4333-8333-333333333333'
const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const ISSUER = 'https://login.acme.example'
const SYSTEM = SYSTEM_NAMESPACE
const SCOPE = `/boundaries/${BOUNDARY_ID}/resourcegroups/${GROUP}`

const nothing = () => ({})
const statusOf = async (world: World, kind: AnyKind, name: string, space?: string) =>
  ((await world.find(kind.resource, name, space))?.status ?? {}) as Record<string, unknown>

const person = (id: string, groups: string[]): Step => ({
  user: `signs in as ${id}`,
  act: (world) =>
    world.make(
      PlatformUser,
      id,
      {
        userName: id,
        emailVerified: true,
        isExternal: true,
        tenantIds: [TENANT],
        externalIdentity: { tenantId: TENANT, alias: 'a', issuer: ISSUER, subject: id, claims: { groups } },
      },
      SYSTEM,
    ),
})
const signsInWithout: Step = {
  user: 'signs in without the claim',
  act: (world) => world.change(PlatformUser, PERSON, { externalIdentity: { claims: { groups: [] } } }, SYSTEM),
}
const binding = { tenantId: TENANT, issuer: ISSUER, claim: 'groups', claimValue: 'staff' }
const bind = (spec: object): Step => ({
  user: 'binds a claim',
  act: (world) => world.make(IdpBinding, ID, { ...binding, ...spec }, SYSTEM),
  until: (world) => world.isReady(IdpBinding, ID, SYSTEM),
})
const unbind: Step = {
  user: 'takes the binding away',
  act: (world) => world.remove(IdpBinding, ID, SYSTEM),
  until: (world) => world.isGone(IdpBinding, ID, SYSTEM),
}
/** Another pass, in which objects that it is not about remain unchanged. */
const othersSignInAnew: Step = {
  user: 'signs in with more claims, as another person',
  act: (world) =>
    world.change(PlatformUser, OTHER, { externalIdentity: { claims: { groups: ['staff', 'x'] } } }, SYSTEM),
}
const membersOfGroup = async (world: World) => {
  type Group = KubeObject & { spec: { memberIds: string[] } }
  const found = await world.find<Group>(PrincipalGroup.resource, FRIENDS, OUTER)
  return found?.spec.memberIds ?? []
}
const takeOutByHand: Step = {
  user: 'takes a person out of the group',
  async act(world) {
    const memberIds = (await membersOfGroup(world)).filter((id) => id !== PERSON)
    await world.change(PrincipalGroup, FRIENDS, { memberIds }, OUTER)
  },
}
const friends: Step = {
  user: 'creates a group with a member',
  act: (world) => world.make(PrincipalGroup, FRIENDS, { displayName: 'Friends', memberIds: [TENANT] }, OUTER),
}

const ssoFlows: readonly Flow[] = [
  {
    title: 'a domain of a tenant is verified',
    controllers: ['ssoconnection'],
    facts: nothing,
    steps: [
      {
        user: 'names the domain',
        act: (world) => world.make(SsoConnection, TENANT, { domains: ['acme.example'] }, SYSTEM),
        until: (world) => world.isReady(SsoConnection, TENANT, SYSTEM),
      },
      {
        user: 'publishes the record',
        act({ engines }) {
          const { name, value } = verificationRecord(TENANT, 'acme.example')
          engines.domains.set(name, [value])
        },
        until: async (world) =>
          JSON.stringify(await statusOf(world, SsoConnection, TENANT, SYSTEM)).includes('Verified'),
      },
    ],
  },
  {
    title: 'a binding adds people to a group, removes one at a sign-in, and all when it is deleted',
    controllers: ['idpbinding'],
    facts: nothing,
    given: [friends],
    steps: [person(PERSON, ['staff']), person(OTHER, ['staff']), bind({ groupId: FRIENDS }), signsInWithout, unbind],
  },
  {
    title: 'a binding adds people to a group, and one removed by hand stays removed',
    controllers: ['idpbinding'],
    facts: async (world) => ({ members: await membersOfGroup(world) }),
    given: [friends],
    steps: [
      person(PERSON, ['staff']),
      person(OTHER, ['staff']),
      bind({ groupId: FRIENDS }),
      takeOutByHand,
      othersSignInAnew,
    ],
  },
  {
    title: 'a binding gives people a role, revokes it from one at a sign-in, and from all when it is deleted',
    controllers: ['idpbinding'],
    facts: nothing,
    steps: [
      person(PERSON, ['staff']),
      person(OTHER, ['staff']),
      bind({ roleDefinitionName: 'Reader', scope: SCOPE }),
      {
        ...signsInWithout,
        until: async ({ server }) => (await server.list(RoleAssignment.resource)).items.length === 1,
      },
      unbind,
    ],
  },
]

/** Whether the service account is pointed to a Secret that is there, and how many there are. */
async function credentials(world: World): Promise<object> {
  const { items: clients } = await world.server.list<KubeObject & { spec: { secretName: string } }>(
    PlatformClient.resource,
  )
  const works = await Promise.all(
    clients.map(async ({ spec }) => (await world.secret(spec.secretName, SYSTEM))?.['client-secret'] !== undefined),
  )
  const status = await statusOf(world, ManagedIdentity, ID)
  const shown = clients.map(
    ({ metadata, spec }) =>
      spec.secretName === managedIdentitySecretName(metadata.name, status.secretVersion as number) &&
      spec.secretName === status.secretName,
  )
  return { works, shown }
}

const identity: readonly Step[] = [
  { user: 'makes something that runs code', act: (world) => world.make(StandInApp, 'shop', {}) },
  {
    user: 'gives it an identity',
    async act(world) {
      const app = await world.find(StandInApp.resource, 'shop')
      const resourceUid = app?.metadata.uid ?? ''
      await world.make(ManagedIdentity, ID, { resourceName: 'shop', resourceType: 'apps', resourceUid })
    },
    until: (world) => world.isReady(ManagedIdentity, ID),
  },
]
const rotate = (secretVersion: number): Step => ({
  user: 'rotates the credentials',
  act: (world) => world.change(ManagedIdentity, ID, { secretVersion }),
  until: async (world) => (await statusOf(world, ManagedIdentity, ID)).secretVersion === secretVersion,
})
const identities = { instead: [managedIdentityController([StandInApp])], facts: credentials }

const managedFlows: readonly Flow[] = [
  {
    ...identities,
    title: 'a resource gets an identity, whose credentials are rotated twice',
    controllers: ['managedidentity', 'platformclient'],
    steps: [...identity, rotate(2), rotate(3)],
  },
  {
    ...identities,
    title: 'an identity is deleted with its resource, its grants and its access key',
    controllers: ['managedidentity', 'objectstorageaccount', 'objectaccesskey'],
    given: [
      ...identity,
      { user: 'makes an account', act: (world) => world.make(ObjectStorageAccount, 'media', {}) },
      {
        user: 'makes a key of the identity',
        act: (world) => world.make(ObjectAccessKey, 'app', { accountName: 'media', managedIdentityId: ID }),
        until: (world) => world.isReady(ObjectAccessKey, 'app'),
      },
      {
        user: 'gives the identity a role',
        async act(world) {
          const { principalId } = await statusOf(world, ManagedIdentity, ID)
          const spec = { principalId, principalType: 'ServicePrincipal', roleDefinitionName: 'Reader', scope: SCOPE }
          await world.make(RoleAssignment, 'app', spec, OUTER)
        },
      },
    ],
    steps: [
      {
        user: 'deletes the resource',
        act: (world) => world.remove(StandInApp, 'shop'),
        until: (world) => world.isGone(ManagedIdentity, ID),
      },
    ],
  },
]

export const identityFlows: readonly Flow[] = [...ssoFlows, ...managedFlows]
