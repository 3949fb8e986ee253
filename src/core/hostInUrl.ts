/** Returns a host in the form that URLs and `host:port` need: IPv6 addresses in brackets. */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
