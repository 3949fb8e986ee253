import type { PaginationMeta } from '../../src/api/resources/dto.ts'

/** A page of a list, as a caller reads it. */
export type PagedListResponse<Item> = { items: Item[]; pagination: PaginationMeta }
