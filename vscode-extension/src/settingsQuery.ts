/** Which page of the settings has a setting, and what is searched for there. */

/** Of package.json: by name, with the scope. */
export type Settings = Record<string, { scope: string }>;

/**
 * @param name of a setting, or the beginning of several names
 * @param remote whether the window is connected to another machine, whose settings have a page of their own
 */
export function page(name: string, settings: Settings, remote: boolean): { command: string; query: string } {
  const meant = Object.entries(settings).filter(([key]) => key === name || key.startsWith(`${name}.`));
  const ofTheMachine = meant.length > 0 && meant.every(([, { scope }]) => scope === "machine");
  return {
    command: remote && ofTheMachine ? "workbench.action.openRemoteSettings" : "workbench.action.openSettings",
    query: name in settings ? `@id:${name}` : name,
  };
}
