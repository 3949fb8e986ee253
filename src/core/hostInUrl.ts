/** A host or an address as a URL, or a port behind it, takes it: addresses of IPv6 stand in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
