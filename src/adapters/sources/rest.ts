import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { ask, type Call } from './calls.ts'
import { type Checked, type Connection, type HookPlace, REPOSITORIES_MAX, type Webhook } from './port.ts'
import { Id, Text } from './repositories.ts'

/** How the REST interface of a provider is spoken to: what differs from one to the next. */
type RestForm = {
  /** Where it begins. */
  readonly base: (connection: Connection) => string
  /** Headers by which a connection signs in, and those that the interface wants. */
  readonly headers: (connection: Connection) => Record<string, string> | Promise<Record<string, string>>
  /** The parameter that says how many items a page has. */
  readonly pageSize: string
  /** Whether the host decides how many they are at most: a page that is not full is not the last one then. */
  readonly hasShortPages?: true
  /** The field of an answer that holds the page; absent where the answer is the page. */
  readonly pageIn?: string
}

/** The account of a token that reaches everything that its account can. */
export const Account = z.object({ name: z.string(), avatarUrl: Text, createdAt: Text })
type Account = z.output<typeof Account>

/** Of a webhook, what hosts say of it. */
export const ToldHook = z.object({ id: Id, url: Text, isActive: z.boolean(), events: z.array(z.string()) })

/** How webhooks of a repository are written; `schema` reads one of them. */
export type HookForm = {
  readonly schema: z.ZodType<z.output<typeof ToldHook>>
  readonly body: (hook: HookPlace) => object
  /** What only a new one is made with. */
  readonly born?: object
  readonly change: 'PATCH' | 'PUT'
}

const PAGE_SIZE = 50
/** Of whoever has more, and asks for one of them, the rest is not read. */
const PAGES_MAX = 100

/** Calls of one provider for one connection. @throws SourceError by status, and for answers of another form */
export function restOf(fetch: OutgoingFetch, { base, headers, pageSize, hasShortPages, pageIn }: RestForm) {
  return (connection: Connection, signal?: AbortSignal) => {
    async function call<Schema extends z.ZodType>(
      path: string,
      schema: Schema,
      what: Pick<Call, 'method' | 'body' | 'conflict'> = {},
    ) {
      return ask(fetch, `${base(connection)}${path}`, schema, { ...what, headers: await headers(connection), signal })
    }

    /** Those that are meant, page after page, until one is not full or there are as many as are told of. */
    async function all<Item extends z.ZodType>(
      path: string,
      item: Item,
      isMeant: (found: z.output<Item>) => boolean = () => true,
    ): Promise<z.output<Item>[]> {
      const page = z.preprocess((answer) => (pageIn === undefined ? answer : Object(answer)[pageIn]), listOf(item))
      const items: z.output<Item>[] = []
      for (let number = 1; items.length < REPOSITORIES_MAX && number <= PAGES_MAX; number += 1) {
        const query = `${path.includes('?') ? '&' : '?'}page=${number}&${pageSize}=${PAGE_SIZE}`
        const next = await call(path + query, page)
        items.push(...next.filter(isMeant))
        if (next.length < (hasShortPages ? 1 : PAGE_SIZE)) break
      }
      return items.slice(0, REPOSITORIES_MAX)
    }

    /** Whose the token is. @param organizationPath where the organization that is meant must be */
    async function check(user: z.ZodType<Account>, organizationPath: string | undefined): Promise<Checked> {
      const account = await call('/user', user)
      if (organizationPath !== undefined) await call(organizationPath, z.object({}))
      return accountOf(account, connection.organization)
    }

    /** Makes the webhook, or repairs it: its secret cannot be read, so it is written in any case. */
    async function ensureHook(
      path: string,
      { schema, body, born, change }: HookForm,
      hook: HookPlace,
    ): Promise<Webhook> {
      const present = (await all(path, schema)).find(({ url }) => url === hook.url)
      const { isActive, events } =
        present === undefined
          ? await call(path, schema, { method: 'POST', body: { ...born, ...body(hook) } })
          : await call(`${path}/${encodeURIComponent(present.id)}`, schema, { method: change, body: body(hook) })
      const created = present === undefined
      return { url: hook.url, isActive, events, lastDeliveryAt: null, lastDeliveryStatus: null, created }
    }

    return { call, all, check, ensureHook }
  }
}

/** No further than to the first that is none: a host may send a page of nothing else. */
function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).transform((found, context): z.output<Item>[] => {
    const items: z.output<Item>[] = []
    for (const one of found) {
      const read = item.safeParse(one)
      if (!read.success) {
        context.addIssue('has an item of another form')
        return z.NEVER
      }
      items.push(read.data)
    }
    return items
  })
}

/** An account, or the organization that is meant of it. */
export function accountOf({ name, avatarUrl, createdAt }: Account, organization: string | undefined): Checked {
  return {
    accountName: organization ?? name,
    accountType: organization === undefined ? 'User' : 'Organization',
    installation: {
      avatarUrl: avatarUrl ?? undefined,
      repositorySelection: 'All',
      permissions: { repositories: 'all' },
      createdAt: createdAt ?? undefined,
    },
  }
}

/** The token that a connection signs in with, where its provider wants one. */
export const tokenOf = ({ credentials }: Connection): string => credentials[CREDENTIAL_KEYS.token] ?? ''

/** The address of a host without the slash that people write at its end. */
export const hostOf = ({ baseUrl }: Connection): string => baseUrl.replace(/\/+$/, '')
