import { z } from 'zod'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { OutgoingFetch } from '../outgoing/port.ts'
import { type Call, fetchFromProvider } from './calls.ts'
import { type CheckedAccount, type Connection, REPOSITORIES_MAX, type Webhook, type WebhookTarget } from './port.ts'
import { NullishText, ProviderId } from './repositories.ts'

/** How the REST API of a provider differs from others. */
type RestForm = {
  /** Base URL of the API. */
  readonly base: (connection: Connection) => string
  /** Authentication headers, and others that the API requires. */
  readonly headers: (connection: Connection) => Record<string, string> | Promise<Record<string, string>>
  /** Query parameter for the page size. */
  readonly pageSize: string
  /** Whether the host may return short pages, so that only an empty page is the last. */
  readonly hasShortPages?: true
  /** The field that holds the items; absent if the answer is the list itself. */
  readonly pageIn?: string
}

/** The account of a token. */
export const Account = z.object({ name: z.string(), avatarUrl: NullishText, createdAt: NullishText })
type Account = z.output<typeof Account>

/** The webhook fields that providers return. */
export const ProviderWebhook = z.object({
  id: ProviderId,
  url: NullishText,
  isActive: z.boolean(),
  events: z.array(z.string()),
})

/** How to read and write webhooks of a provider. */
export type WebhookFormat = {
  readonly schema: z.ZodType<z.output<typeof ProviderWebhook>>
  readonly body: (hook: WebhookTarget) => object
  /** Further fields that only a creation needs. */
  readonly createBody?: object
  readonly change: 'PATCH' | 'PUT'
}

const PAGE_SIZE = 50
/** Bounds a search through many items; the rest is not read. */
const PAGES_MAX = 100

/** Returns the calls of one provider. @throws SourceError by status, or for an answer of another form */
export function createRestCalls(fetch: OutgoingFetch, { base, headers, pageSize, hasShortPages, pageIn }: RestForm) {
  return (connection: Connection, signal?: AbortSignal) => {
    async function call<Schema extends z.ZodType>(
      path: string,
      schema: Schema,
      request: Pick<Call, 'method' | 'body' | 'conflict'> = {},
    ) {
      return fetchFromProvider(fetch, `${base(connection)}${path}`, schema, {
        ...request,
        headers: await headers(connection),
        signal,
      })
    }

    /** Reads pages and returns the matching items, until a page is the last or REPOSITORIES_MAX is reached. */
    async function all<Item extends z.ZodType>(
      path: string,
      item: Item,
      matches: (found: z.output<Item>) => boolean = () => true,
    ): Promise<z.output<Item>[]> {
      const page = z.preprocess((answer) => (pageIn === undefined ? answer : Object(answer)[pageIn]), listOf(item))
      const items: z.output<Item>[] = []
      for (let number = 1; items.length < REPOSITORIES_MAX && number <= PAGES_MAX; number += 1) {
        const query = `${path.includes('?') ? '&' : '?'}page=${number}&${pageSize}=${PAGE_SIZE}`
        const next = await call(path + query, page)
        items.push(...next.filter(matches))
        if (next.length < (hasShortPages ? 1 : PAGE_SIZE)) break
      }
      return items.slice(0, REPOSITORIES_MAX)
    }

    /** Returns the token's account. @param organizationPath path of an organization that must be accessible */
    async function check(user: z.ZodType<Account>, organizationPath: string | undefined): Promise<CheckedAccount> {
      const account = await call('/user', user)
      if (organizationPath !== undefined) await call(organizationPath, z.object({}))
      return accountOf(account, connection.organization)
    }

    /** Creates or updates the webhook. An update is always written, because the stored secret cannot be read. */
    async function ensureHook(
      path: string,
      { schema, body, createBody, change }: WebhookFormat,
      hook: WebhookTarget,
    ): Promise<Webhook> {
      const present = (await all(path, schema)).find(({ url }) => url === hook.url)
      const { isActive, events } =
        present === undefined
          ? await call(path, schema, { method: 'POST', body: { ...createBody, ...body(hook) } })
          : await call(`${path}/${encodeURIComponent(present.id)}`, schema, { method: change, body: body(hook) })
      const created = present === undefined
      return { url: hook.url, isActive, events, lastDeliveryAt: null, lastDeliveryStatus: null, created }
    }

    return { call, all, check, ensureHook }
  }
}

/** Parses up to the first invalid item: a host may send a page of nothing else. */
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

/** Describes the account, or the organization if one is set. */
export function accountOf({ name, avatarUrl, createdAt }: Account, organization: string | undefined): CheckedAccount {
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

/** Returns the token of a connection; empty if there is none. */
export const tokenOf = ({ credentials }: Connection): string => credentials[CREDENTIAL_KEYS.token] ?? ''

/** Returns the base URL of a host without trailing slashes. */
export const hostUrlOf = ({ baseUrl }: Connection): string => baseUrl.replace(/\/+$/, '')
