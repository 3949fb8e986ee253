import type { z } from 'zod'
import { datesInUtc } from '../../../crds/dates.ts'
import { ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import type { ErrorForm } from '../../http/problem.ts'
import { type Authorization, type RouteDraft, route } from '../../http/route.ts'
import { ListConfigDto, pagedListOf } from '../dto.ts'
import { listConfig } from '../listConfig.ts'
import { pagedParts } from '../pages.ts'
import type { FieldValue, ListField, ListShape } from '../paging.ts'

/** The options of a list over records: each column is the field of that name, as the record shows it. */
export type Columns<Dto extends object> = {
  readonly columns: { readonly [Name in keyof Dto & string]?: ListField<Dto> }
  /** The default order: a column, with a leading `-` for descending. */
  readonly sort: string
  /** The field that orders rows with equal `sort` fields; `id` if absent. */
  readonly name?: keyof Dto & string
  /** The unique field; `id` if absent. */
  readonly id?: keyof Dto & string
  /** Whether `tags.<key>` is a filter. */
  readonly isTagged?: boolean
} & Pick<ListShape<Dto>, 'limitName' | 'limitMax' | 'pageSizeDefault'>

export function shapeOf<Dto extends object>(declaration: Columns<Dto>): ListShape<Dto> {
  const { columns, sort, id = 'id', name = id, isTagged = false } = declaration
  const { limitName, limitMax, pageSizeDefault } = declaration
  const textOf = (field: string) => (row: Dto) => {
    const value = (row as Record<string, FieldValue>)[field]
    return typeof value === 'number' ? String(value).padStart(16, '0') : String(value ?? '')
  }
  return {
    fields: withSearch(columns as Record<string, ListField<Dto>>, isTagged),
    defaultSort: sort,
    nameOf: textOf(name),
    idOf: textOf(id),
    namesOf: (row) => ({ id: String(row[id as keyof Dto] ?? ''), name: String(row[name as keyof Dto] ?? '') }),
    ...(isTagged && { tagsOf: (row) => (row as { tags: Record<string, string> }).tags }),
    ...(limitName !== undefined && { limitName }),
    ...(limitMax !== undefined && { limitMax }),
    ...(pageSizeDefault !== undefined && { pageSizeDefault }),
  }
}

/** If no column is marked as searched, all text and enumeration columns are. */
function withSearch<Row>(fields: Record<string, ListField<Row>>, isTagged: boolean): Record<string, ListField<Row>> {
  if (isTagged || Object.values(fields).some(({ isSearched }) => isSearched === true)) return fields
  const entries = Object.entries(fields).map(([name, field]) => {
    const isSearched = field.type === 'text' || field.type === 'enumeration'
    return [name, { ...field, isSearched }] as const
  })
  return Object.fromEntries(entries)
}

type ListDeclaration<Dto extends z.ZodObject, Query extends z.ZodObject> = Columns<z.output<Dto>> & {
  auth: Authorization
  summary: string
  further?: string
  query?: Query
  dto: Dto
  answers?: readonly number[]
  errors?: ErrorForm
  /** Where the records come from, if that is not watched. */
  unfollowed?: string
  /** Every record that the caller may see; filtered, searched, sorted and cut here. */
  rows: (context: Context<string, z.output<Query>>) => Rows<z.output<Dto>> | Promise<Rows<z.output<Dto>>>
}

/** `etag` is the tag of the one object that the rows belong to, if If-Match accepts it. */
type Rows<Dto> = readonly Dto[] | { readonly rows: readonly Dto[]; readonly etag: string | undefined }

/** A route that lists records, wherever they come from. */
export function listRoute<Dto extends z.ZodObject, Query extends z.ZodObject = z.ZodObject>(
  path: string,
  declaration: ListDeclaration<Dto, Query>,
): RouteDraft {
  const { auth, summary, further, query, dto, answers = [], errors = 'platform', unfollowed, rows } = declaration
  const list = shapeOf(declaration)
  const toUtc = datesInUtc(dto)
  return route('GET', path, {
    auth,
    summary,
    further,
    list,
    reply: pagedListOf(dto) as z.ZodType,
    answers,
    errors,
    unfollowed,
    ...(query !== undefined && { query: query as z.ZodObject }),
    handler: async (context) => {
      const found = await rows(context as never)
      const { rows: all, etag } = 'rows' in found ? found : { rows: found, etag: undefined }
      const answer = pagedParts(all, context.list, list, (row) => toUtc(row) as object)
      return etag === undefined ? answer : { ...answer, headers: { ...answer.headers, etag } }
    },
  })
}

type ConfigDeclaration = {
  /** The name of the list. */
  collection: string
  /** The prefix of the actions that are listed if the caller holds them. */
  actionPrefix: string
  /** Throws if there is no such list. */
  before?: (context: Context) => unknown
}

/** A list route, and a `config` route below it that describes how the list can be sorted and filtered. */
export function listWithConfig<Dto extends z.ZodObject, Query extends z.ZodObject = z.ZodObject>(
  path: string,
  declaration: ListDeclaration<Dto, Query> & ConfigDeclaration,
): RouteDraft[] {
  const { auth, collection, actionPrefix, errors = 'platform', before } = declaration
  const list = shapeOf(declaration)
  const config = route('GET', `${path}/config`, {
    auth,
    summary: `How the list of ${collection} can be sorted and filtered`,
    errors,
    reply: ListConfigDto,
    handler: async (context) => {
      await before?.(context)
      return ok(listConfig(list, { collection, context, actionPrefix }))
    },
  })
  return [listRoute(path, declaration), config]
}
