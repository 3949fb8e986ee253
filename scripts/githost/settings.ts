type Given = {
  home: string
  assets: string
  listensOn: string
  port: number
  url: string
  secretKey: string
  internalToken: string
  user: string
}

/**
 * Settings of Gitea as the platform runs it: no registration, nothing public, and only Git and its REST interface
 * enabled. It runs on this machine, as does the facade that receives its webhooks.
 */
export function settingsOf({ home, assets, listensOn, port, url, secretKey, internalToken, user }: Given): string {
  const sections: Record<string, Record<string, string | number | boolean>> = {
    server: {
      PROTOCOL: 'https',
      HTTP_ADDR: listensOn,
      HTTP_PORT: port,
      ROOT_URL: `${url}/`,
      CERT_FILE: `${home}/tls.crt`,
      KEY_FILE: `${home}/tls.key`,
      STATIC_ROOT_PATH: assets,
      DISABLE_SSH: true,
      OFFLINE_MODE: true,
      LFS_START_SERVER: false,
    },
    database: { DB_TYPE: 'sqlite3', PATH: `${home}/data/gitea.db` },
    repository: { ROOT: `${home}/repositories`, FORCE_PRIVATE: true },
    security: { INSTALL_LOCK: true, SECRET_KEY: secretKey, INTERNAL_TOKEN: internalToken },
    service: { DISABLE_REGISTRATION: true, REQUIRE_SIGNIN_VIEW: true, DEFAULT_USER_VISIBILITY: 'private' },
    webhook: { ALLOWED_HOST_LIST: 'loopback' },
    migrations: { ALLOW_LOCALNETWORKS: false },
    oauth2: { ENABLED: false },
    actions: { ENABLED: false },
    packages: { ENABLED: false },
    mailer: { ENABLED: false },
    indexer: { ISSUE_INDEXER_TYPE: 'db' },
    log: { MODE: 'console', LEVEL: 'Warn' },
  }
  const top = [`RUN_USER = ${user}`, 'RUN_MODE = prod', 'I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true']
  const lines = Object.entries(sections).flatMap(([name, entries]) => [
    `[${name}]`,
    ...Object.entries(entries).map(([key, value]) => `${key} = ${value}`),
  ])
  return `${[...top, ...lines].join('\n')}\n`
}
