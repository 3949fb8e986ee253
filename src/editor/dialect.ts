/** The engines whose SQL the editor supports. */
export const DIALECTS = ['postgresql', 'mariadb', 'mssql'] as const
export type Dialect = (typeof DIALECTS)[number]
