import type { PaginationMeta } from '../../src/api/resources/paging.ts'

/** A page of a list, as a caller reads it. */
export type PagedListResponse<Item> = { items: Item[]; pagination: PaginationMeta }
