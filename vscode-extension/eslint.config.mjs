import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "dist-test", "bundled", "node_modules"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["*.mjs", "scripts/*.mjs"] }, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  // node:test's `test` gives a promise that its runner awaits itself
  { files: ["test/**", "webview/test/**"], rules: { "@typescript-eslint/no-floating-promises": "off", "@typescript-eslint/no-non-null-assertion": "off" } },
  { files: ["**/*.mjs"], ...tseslint.configs.disableTypeChecked },
);
