import { z } from 'zod'
import type { UserRecord } from '../../adapters/identity/port.ts'
import { timestamp } from '../../core/clock.ts'
import { notFound } from '../../core/errors.ts'
import { isUuid } from '../../core/names.ts'
import { visiblePeopleAuth, visiblePersonFilter } from '../callers/visiblePeople.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { contentTag } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { type RouteDraft, route } from '../http/route.ts'
import { displayNameOf } from '../people/accounts.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { dateTime, flag, text } from '../resources/paging.ts'

export const UserDto = namedRecord('UserDto', {
  id: Uuid,
  userName: z.string(),
  email: z.string().nullable(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  displayName: z.string(),
  emailVerified: z.boolean(),
  isEnabled: z.boolean(),
  isExternal: z.boolean(),
  tenantIds: z.array(Uuid),
  createdAt: DateTime,
  lastSignInAt: DateTime.nullable(),
})

function userDto(user: UserRecord): z.output<typeof UserDto> {
  const { id, userName, email = null, firstName = null, lastName = null, emailVerified, isEnabled, isExternal } = user
  const { createdAt, lastSignInAt } = user
  return {
    id,
    userName,
    email,
    firstName,
    lastName,
    displayName: displayNameOf(user),
    emailVerified,
    isEnabled,
    isExternal,
    tenantIds: [...user.tenantIds],
    createdAt: timestamp(createdAt),
    lastSignInAt: lastSignInAt === undefined ? null : timestamp(lastSignInAt),
  }
}

/** @throws PlatformError NOT_FOUND, also for users that the caller may not see */
async function readUser(context: Context<'userId'>) {
  const { services, caller, parameters } = context
  const { userId } = parameters
  const user = isUuid(userId) ? await services.accounts.users.find(userId) : undefined
  if (user === undefined || !(await visiblePersonFilter(services, caller))(user)) throw notFound('The user')
  const record = userDto(user)
  return ok(record, { etag: contentTag(JSON.stringify(record)) })
}

export const userRoutes: readonly RouteDraft[] = [
  listRoute('/admin/users', {
    auth: visiblePeopleAuth,
    summary: "The users of the caller's tenants",
    query: z.object({ search: z.string().optional() }),
    dto: UserDto,
    columns: {
      displayName: text('Name', { isSearched: true }),
      userName: text('User name', { isSearched: true }),
      email: text('E-mail', { isSearched: true }),
      isEnabled: flag('Enabled', { isSorted: true }),
      createdAt: dateTime('Created'),
    },
    sort: 'displayName',
    name: 'displayName',
    limitName: 'max',
    pageSizeDefault: 100,
    unfollowed: 'the identity provider',
    rows: async (context) => {
      const { services, caller } = context
      const isSeen = await visiblePersonFilter(services, caller)
      const all = await services.accounts.users.list({ limit: Number.MAX_SAFE_INTEGER })
      return all.filter(isSeen).map(userDto)
    },
  }),
  route('GET', '/admin/users/{userId}', {
    auth: visiblePeopleAuth,
    summary: 'Read a user',
    reply: UserDto,
    handler: readUser,
  }),
]
