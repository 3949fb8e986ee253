import { SYSTEM_NAMESPACE } from '../../../src/core/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import type { AnyKind } from '../../../src/crds/define.ts'
import { PlatformUser } from '../../../src/crds/identity.ts'
import { MemberInvitation, PasswordReset } from '../../../src/crds/invitations.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../../src/crds/rbac.ts'
import type { Flow, Step } from '../flow.ts'
import { BOUNDARY_ID, GROUP, OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

const PERSON = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a11'
const OTHER = '7c1b2f7e-15c2-4f60-8f43-2f4d6f0c9a12'
const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const SYSTEM = SYSTEM_NAMESPACE
const SCOPE = `/boundaries/${BOUNDARY_ID}/resourcegroups/${GROUP}`
const HOUR = 3_600_000
const REQUEST = '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f'

const inFuture = (world: World, milliseconds: number) => new Date(world.clock.now() + milliseconds).toISOString()
const nothing = () => ({})
const grant = { principalId: PERSON, principalType: 'User', scope: SCOPE }

const pass = (milliseconds: number, until: Step['until']): Step => ({
  user: 'lets time pass',
  act: (world) => world.pass(milliseconds),
  ...(until === undefined ? {} : { until }),
})
const statusOf = async (world: World, kind: AnyKind, name: string, space?: string) =>
  ((await world.find(kind.resource, name, space))?.status ?? {}) as Record<string, unknown>

const expiring = (kind: AnyKind, name: string, spec: object): Step => ({
  user: `makes ${kind.kind} ${name} for an hour`,
  act: (world) => world.make(kind, name, { ...spec, expiresAt: inFuture(world, HOUR) }, OUTER),
  until: (world) => world.isReady(kind, name, OUTER),
})

const grantFlows: readonly Flow[] = [
  {
    title: 'a group created by kubectl keeps the incarnations of its members',
    controllers: ['principalgroup'],
    facts: nothing,
    steps: [
      { user: 'makes a person', act: (world) => world.make(PlatformUser, PERSON, { userName: 'ada' }, SYSTEM) },
      {
        user: 'makes a group of that person',
        act: (world) => world.make(PrincipalGroup, ID, { displayName: 'Team', memberIds: [PERSON] }, OUTER),
        until: (world) => world.isReady(PrincipalGroup, ID, OUTER),
      },
    ],
  },
  {
    title: 'a role is assigned before it exists, and then created by kubectl',
    controllers: ['roledefinition', 'roleassignment'],
    facts: nothing,
    steps: [
      {
        user: 'assigns a role that is not there yet',
        act: (world) => world.make(RoleAssignment, 'early', { ...grant, roleDefinitionName: 'Job runner' }, OUTER),
      },
      {
        user: 'makes the role',
        act: (world) =>
          world.make(RoleDefinition, ID, {
            displayName: 'Job runner',
            actions: ['jobs/write'],
            assignableScopes: ['/boundaries/*'],
          }),
        until: (world) => world.isReady(RoleDefinition, ID),
      },
    ],
  },
  {
    title: 'an assignment, a deny and a trust of kubectl expire',
    controllers: ['roleassignment', 'denyassignment', 'boundarytrust'],
    facts: nothing,
    steps: [
      {
        user: 'makes an assignment for ever',
        act: (world) => world.make(RoleAssignment, 'stays', { ...grant, roleDefinitionName: 'Owner' }, OUTER),
      },
      expiring(RoleAssignment, 'hour', { ...grant, roleDefinitionName: 'Reader' }),
      expiring(DenyAssignment, 'held', { ...grant, isEveryone: false, actions: ['jobs/write'] }),
      {
        user: 'makes a trust for an hour',
        act: (world) =>
          world.make(
            BoundaryTrust,
            ID,
            {
              boundaryId: BOUNDARY_ID,
              trustedBoundaryId: OTHER,
              actions: ['jobs/read'],
              expiresAt: inFuture(world, HOUR),
            },
            SYSTEM,
          ),
      },
      pass(
        HOUR,
        async (world) =>
          (await world.isGone(RoleAssignment, 'hour', OUTER)) &&
          (await world.isGone(DenyAssignment, 'held', OUTER)) &&
          (await world.isGone(BoundaryTrust, ID, SYSTEM)),
      ),
    ],
  },
  ...[
    {
      title: 'a request is approved, granted and ended early',
      end: {
        user: 'ends it',
        act: (world: World) =>
          world.change(JitRequest, REQUEST, { decision: 'Ended', decidedAt: inFuture(world, 0) }, OUTER),
      },
    },
    { title: 'a request is approved, granted and expires', end: pass(HOUR, undefined) },
  ].map(
    ({ title, end }): Flow => ({
      title,
      controllers: ['jitrequest', 'roleassignment'],
      facts: nothing,
      steps: [
        {
          user: 'asks',
          act: (world) =>
            world.make(
              JitRequest,
              REQUEST,
              { ...grant, roleDefinitionName: 'Reader', justification: 'night shift' },
              OUTER,
            ),
          until: async (world) => (await statusOf(world, JitRequest, REQUEST, OUTER)).state === 'Pending',
        },
        {
          user: 'approves',
          act: (world) =>
            world.change(
              JitRequest,
              REQUEST,
              { decision: 'Approved', decidedAt: inFuture(world, 0), decidedBy: OTHER },
              OUTER,
            ),
          until: async (world) => (await statusOf(world, JitRequest, REQUEST, OUTER)).state === 'Active',
        },
        {
          ...end,
          until: async (world) => {
            const { state } = await statusOf(world, JitRequest, REQUEST, OUTER)
            const { items } = await world.server.list(RoleAssignment.resource)
            return state !== 'Active' && items.length === 0
          },
        },
      ],
    }),
  ),
]

const hash = 'a'.repeat(64)

const invitationFlows: readonly Flow[] = [
  {
    title: 'an invitation expires, and used or expired password resets are deleted',
    controllers: ['memberinvitation', 'passwordreset'],
    facts: nothing,
    steps: [
      {
        user: 'invites, and asks for two resets',
        async act(world) {
          const expiresAt = inFuture(world, HOUR)
          const invited = { email: 'ada@example.org', roleDefinitionName: 'Reader', scope: SCOPE }
          const by = { invitedBy: OTHER, hasAccount: true, expiresAt, tokenHash: hash }
          await world.make(MemberInvitation, ID, { ...invited, ...by }, OUTER)
          const reset = { userId: PERSON, email: 'ada@example.org', tokenHash: hash, expiresAt }
          await world.make(PasswordReset, 'used', reset, SYSTEM)
          await world.make(PasswordReset, 'unused', reset, SYSTEM)
        },
      },
      {
        user: 'uses one',
        act: (world) => world.change(PasswordReset, 'used', { usedAt: inFuture(world, 0) }, SYSTEM),
        until: (world) => world.isGone(PasswordReset, 'used', SYSTEM),
      },
      pass(HOUR, async (world) => {
        const found = await world.find<KubeObject & { spec: { state: string } }>(MemberInvitation.resource, ID, OUTER)
        return found?.spec.state === 'Expired'
      }),
      pass(25 * HOUR, (world) => world.isGone(PasswordReset, 'unused', SYSTEM)),
    ],
  },
]

export const iamFlows: readonly Flow[] = [...grantFlows, ...invitationFlows]
