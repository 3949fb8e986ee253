/** Returns a connection string of ADO.NET. A value that contains what separates pairs is quoted. */
export function adoNetString(pairs: Readonly<Record<string, string | number>>): string {
  const value = (given: string) => (/[;="' ]/.test(given) ? `"${given.replaceAll('"', '""')}"` : given)
  return Object.entries(pairs)
    .map(([name, given]) => `${name}=${value(String(given))}`)
    .join(';')
}
